// Command kubernetes is a whole Kubernetes control plane and its client in one binary.
//
// The first argument picks the program: etcd, kube-apiserver, kube-controller-manager, kube-scheduler or kubectl.
// One binary instead of five shares the Kubernetes libraries, which are most of the size and of the build time.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	// Registers the metrics that the controller manager and the API server expose, as upstream's mains do.
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
)

func main() {
	name := filepath.Base(os.Args[0])
	if len(os.Args) > 1 && !known(name) {
		name = os.Args[1]
		os.Args = append([]string{name}, os.Args[2:]...)
	}
	switch name {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		run(apiserver.NewAPIServerCommand())
	case "kube-controller-manager":
		run(controllermanager.NewControllerManagerCommand())
	case "kube-scheduler":
		run(scheduler.NewSchedulerCommand())
	case "kubectl":
		if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		fmt.Fprintln(os.Stderr, "usage: kubernetes etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kubectl [ARGUMENT...]")
		os.Exit(2)
	}
}

func known(name string) bool {
	switch name {
	case "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl":
		return true
	}
	return false
}

func run(command *cobra.Command) {
	os.Exit(cli.Run(command))
}
