package dev.platter.cluster.csi;

import csi.v1.CreateSnapshotRequest;
import csi.v1.CreateSnapshotResponse;
import csi.v1.DeleteSnapshotRequest;
import csi.v1.DeleteSnapshotResponse;
import csi.v1.GetSnapshotRequest;
import csi.v1.GetSnapshotResponse;
import csi.v1.ListSnapshotsRequest;
import csi.v1.ListSnapshotsResponse;
import dev.platter.node.volumes.Snapshot;
import dev.platter.node.volumes.VolumeStore;
import java.io.IOException;

/** What the controller does with snapshots. */
final class SnapshotCalls {
  private final VolumeStore store;
  private final VolumeRequests requests;
  private final Handles handles;
  private final VolumeMessages messages;

  SnapshotCalls(VolumeStore store, VolumeRequests requests, Handles handles) {
    this.store = store;
    this.requests = requests;
    this.handles = handles;
    this.messages = new VolumeMessages(handles, requests);
  }

  CreateSnapshotResponse create(CreateSnapshotRequest request) throws IOException {
    var name = VolumeRequests.name(request.getName());
    VolumeRequests.noParameters(request.getParametersMap());
    requests.reachable(request.getAccessibilityRequirements());
    var volume = messages.id("volume", request.getSourceVolumeId());
    // The volume may be gone when the call is repeated.
    var known = store.snapshotNamed(name);
    var snapshot = known.isPresent() ? known.get() : store.snapshot(name, volume);
    if (!snapshot.volume().equals(volume)) {
      throw VolumeCalls.exists("snapshot", name);
    }
    return CreateSnapshotResponse.newBuilder().setSnapshot(messages.snapshot(snapshot)).build();
  }

  DeleteSnapshotResponse delete(DeleteSnapshotRequest request) throws IOException {
    var id = messages.ownId(VolumeRequests.required(request.getSnapshotId(), "snapshot_id"));
    if (id.isPresent()) {
      store.deleteSnapshot(id.get());
    }
    return DeleteSnapshotResponse.getDefaultInstance();
  }

  GetSnapshotResponse get(GetSnapshotRequest request) throws IOException {
    var id = messages.id("snapshot", request.getSnapshotId());
    var snapshot = store.snapshot(id).orElseThrow(() -> messages.gone("snapshot"));
    return GetSnapshotResponse.newBuilder().setSnapshot(messages.snapshot(snapshot)).build();
  }

  ListSnapshotsResponse list(ListSnapshotsRequest request) throws IOException {
    var chosen =
        store.snapshots().stream()
            .filter(one -> isOrAny(request.getSnapshotId(), one.id()))
            .filter(one -> isOrAny(request.getSourceVolumeId(), one.volume()))
            .toList();
    var page = Page.of(chosen, Snapshot::id, request.getStartingToken(), request.getMaxEntries());
    var response = ListSnapshotsResponse.newBuilder().setNextToken(page.next());
    page.entries().forEach(one -> response.addEntriesBuilder().setSnapshot(messages.snapshot(one)));
    return response.build();
  }

  private boolean isOrAny(String wanted, String id) {
    return wanted.isEmpty() || wanted.equals(handles.of(id));
  }
}
