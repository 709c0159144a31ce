package dev.platter.cluster.node;

import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.Conditions;
import dev.platter.cluster.api.IdentityStatus;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VmIdentity;
import dev.platter.model.PlatterException;
import dev.platter.node.IdentityDisk;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.time.Instant;
import java.util.List;
import java.util.function.Consumer;

/** What a node says of the disks of identities. */
final class IdentityReports {
  private final IdentityKeeper.Objects objects;
  private final String node;
  private final Consumer<String> log;

  IdentityReports(IdentityKeeper.Objects objects, String node, Consumer<String> log) {
    this.objects = objects;
    this.node = node;
    this.log = log;
  }

  /**
   * That the disk is here.
   *
   * @return false if that is not known to count: then the disk is somebody else's to have, the
   *     object is gone, or nobody answers
   */
  boolean made(VmIdentity object, IdentityDisk disk) {
    try {
      objects.status(
          object,
          new IdentityStatus(
              disk.made().toString(),
              true,
              node,
              disk.size(),
              conditions(object, true, Reason.READY, "Its disk is on " + node + "."),
              object.getMetadata().getGeneration()));
      return true;
    } catch (KubernetesClientException e) {
      if (e.getCode() != HttpURLConnection.HTTP_CONFLICT
          && e.getCode() != HttpURLConnection.HTTP_NOT_FOUND) {
        log.accept("identity " + IdentityKeeper.key(object) + ": " + e.getMessage());
      }
    } catch (IOException e) {
      log.accept("identity " + IdentityKeeper.key(object) + ": " + e);
    }
    return false;
  }

  /** Why there is no disk; said once. */
  void failed(VmIdentity object, PlatterException why) {
    var message = why.getMessage() + (why.next().isEmpty() ? "" : " " + why.next());
    var status = notReady(object, Session.reason(why), message);
    try {
      if (!status.equals(object.getStatus())) {
        objects.status(object, status);
      }
    } catch (KubernetesClientException e) {
      log.accept("identity " + IdentityKeeper.key(object) + ": " + message);
    }
  }

  /** That the disk was here, and is gone. */
  void missed(VmIdentity object) {
    objects.status(
        object, notReady(object, Reason.NOT_FOUND, "Its disk is not on " + node + " any more."));
  }

  /** As it is, but for what is said. */
  private static IdentityStatus notReady(VmIdentity object, Reason reason, String message) {
    var before = IdentityStatus.of(object);
    return new IdentityStatus(
        before.creationTime(),
        false,
        before.nodeName(),
        before.size(),
        conditions(object, false, reason, message),
        object.getMetadata().getGeneration());
  }

  private static List<Condition> conditions(
      VmIdentity object, boolean ready, Reason reason, String message) {
    var before = IdentityStatus.of(object).conditions();
    return new Conditions(before, object.getMetadata().getGeneration(), Instant.now())
        .add(Condition.READY, ready, reason, message)
        .keepOthers()
        .all();
  }
}
