//go:build !evenkeelroot

package clients

// evenkeelSpecs is empty in a build without our own client.
func evenkeelSpecs() []Spec { return nil }
