// Command pulumi-resource-kubernetes serves the Pulumi Kubernetes provider.
//
// The provider's own main embeds files that its repository does not keep. The lab's builder copies the two files
// below out of the module (with the version filled in) before it builds; they are not committed.
package main

import (
	_ "embed"

	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"
)

// version is stamped by the builder and must equal the schema's.
var version = "0.0.0"

//go:embed schema.json
var schema []byte

//go:embed terraform-mapping.json
var mapping []byte

func main() {
	provider.Serve("kubernetes", version, schema, mapping)
}
