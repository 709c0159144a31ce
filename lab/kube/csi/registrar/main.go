// registrar NAME DRIVER_SOCKET REGISTRATION_SOCKET: tells a kubelet of a CSI driver that is not a pod. It ends if the kubelet
// does not want it.
package main

import (
	"context"
	"fmt"
	"net"
	"os"

	"google.golang.org/grpc"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

type server struct {
	registration.UnimplementedRegistrationServer
	name, endpoint string
}

func (s *server) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{
		Type: registration.CSIPlugin, Name: s.name, Endpoint: s.endpoint, SupportedVersions: []string{"1.0.0"},
	}, nil
}

func (s *server) NotifyRegistrationStatus(
	_ context.Context, status *registration.RegistrationStatus,
) (*registration.RegistrationStatusResponse, error) {
	fmt.Println("registered:", status.PluginRegistered, status.Error)
	if !status.PluginRegistered {
		os.Exit(1)
	}
	return &registration.RegistrationStatusResponse{}, nil
}

func main() {
	os.Remove(os.Args[3])
	listener, err := net.Listen("unix", os.Args[3])
	if err != nil {
		panic(err)
	}
	s := grpc.NewServer()
	registration.RegisterRegistrationServer(s, &server{name: os.Args[1], endpoint: os.Args[2]})
	fmt.Println(s.Serve(listener))
}
