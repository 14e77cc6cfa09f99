module github.com/evenkeel-go/evenkeel

go 1.26.0
