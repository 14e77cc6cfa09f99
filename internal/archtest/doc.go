// Package archtest holds the project's architecture as tests: who may import whom, which third-party modules may appear where, and the source rules that
// no compiler checks. It parses every Go file below the module root, whatever its build tags, so that a rule cannot be broken on one system only.
//
// It holds no code that anything imports, needs no toolchain at test time, and never changes a file. Its rules hold vacuously for packages that do not
// exist yet; a package that exists must have a row in the table. Each rule carries its reason, which is printed when the rule is broken.
//
// Start reading at rules_test.go, which is the table.
package archtest
