package dev.platter.cluster.csi;

import csi.v1.NodeGetCapabilitiesRequest;
import csi.v1.NodeGetCapabilitiesResponse;
import csi.v1.NodeGetInfoRequest;
import csi.v1.NodeGetInfoResponse;
import csi.v1.NodeGrpc;
import csi.v1.NodePublishVolumeRequest;
import csi.v1.NodePublishVolumeResponse;
import csi.v1.NodeUnpublishVolumeRequest;
import csi.v1.NodeUnpublishVolumeResponse;
import io.grpc.stub.StreamObserver;

/** The two calls that an inline volume needs. All others answer that they are not implemented. */
final class NodeService extends NodeGrpc.NodeImplBase {
  private final String nodeId;
  private final Requests requests;
  private final PodSockets sockets;

  NodeService(String nodeId, Requests requests, PodSockets sockets) {
    this.nodeId = nodeId;
    this.requests = requests;
    this.sockets = sockets;
  }

  @Override
  public void nodeGetInfo(NodeGetInfoRequest request, StreamObserver<NodeGetInfoResponse> caller) {
    Answer.give(caller, () -> NodeGetInfoResponse.newBuilder().setNodeId(nodeId).build());
  }

  @Override
  public void nodeGetCapabilities(
      NodeGetCapabilitiesRequest request, StreamObserver<NodeGetCapabilitiesResponse> caller) {
    Answer.give(caller, NodeGetCapabilitiesResponse::getDefaultInstance);
  }

  @Override
  public void nodePublishVolume(
      NodePublishVolumeRequest request, StreamObserver<NodePublishVolumeResponse> caller) {
    Answer.give(
        caller,
        () -> {
          sockets.publish(requests.volume(request));
          return NodePublishVolumeResponse.getDefaultInstance();
        });
  }

  @Override
  public void nodeUnpublishVolume(
      NodeUnpublishVolumeRequest request, StreamObserver<NodeUnpublishVolumeResponse> caller) {
    Answer.give(
        caller,
        () -> {
          var volumeId = requests.volumeId(request.getVolumeId());
          sockets.unpublish(volumeId, requests.target(request.getTargetPath()));
          return NodeUnpublishVolumeResponse.getDefaultInstance();
        });
  }
}
