package dev.platter.e2e;

import static dev.platter.e2e.ImportActor.CONTROLLER;
import static dev.platter.e2e.ImportActor.DAEMON;
import static dev.platter.e2e.ImportActor.DRIVER;
import static dev.platter.e2e.ImportActor.KUBELET;
import static dev.platter.e2e.ImportActor.LAUNCHER;
import static dev.platter.e2e.ImportActor.PROVISIONER;
import static dev.platter.e2e.ImportActor.SNAPSHOTTER;
import static dev.platter.e2e.ImportActor.SNAPSHOT_CONTROLLER;

import java.util.List;
import java.util.regex.Pattern;

/**
 * What happens to an identity whose disk is a claim, from its beginning to its end, how one sees
 * that it has begun, and who has something to do in it.
 */
enum ImportStep {
  SIZE(
      "the image's size is looked up",
      WatchedObjects.Kind.PODS,
      "image-\\w+-size\\|.*\\|.*\\|node.*",
      1000,
      DAEMON,
      CONTROLLER,
      KUBELET,
      LAUNCHER),
  CLAIM(
      "the image's claim is made",
      WatchedObjects.Kind.CLAIMS,
      "image-\\w+\\|.*\\|(Pending)?\\|\\|",
      500,
      CONTROLLER,
      PROVISIONER,
      DRIVER,
      KUBELET),
  FILL(
      "the image is written to the claim",
      WatchedObjects.Kind.PODS,
      // Not when it runs, of which a kubelet need not tell if it is soon over.
      "image-\\w+-fill\\|.*\\|.*\\|node.*",
      2500,
      DAEMON,
      LAUNCHER,
      CONTROLLER,
      KUBELET,
      DRIVER),
  WRITTEN(
      "the image is written",
      WatchedObjects.Kind.PODS,
      "image-\\w+-fill\\|.*\\|Succeeded\\|.*",
      500,
      CONTROLLER,
      DAEMON,
      KUBELET,
      DRIVER),
  SNAPSHOT(
      "the snapshot is made",
      WatchedObjects.Kind.SNAPSHOTS,
      "image-\\w+\\|.*\\|(false)?\\|\\|",
      500,
      CONTROLLER,
      SNAPSHOT_CONTROLLER,
      SNAPSHOTTER,
      DRIVER),
  COPY(
      "the identities' claims are made from it",
      WatchedObjects.Kind.CLAIMS,
      "vmid-\\w+\\|.*\\|(Pending)?\\|\\|",
      500,
      CONTROLLER,
      PROVISIONER,
      DRIVER),
  START(
      "a VM starts from one",
      WatchedObjects.Kind.PODS,
      "first\\|.*\\|.*\\|node.*",
      2000,
      DAEMON,
      LAUNCHER,
      CONTROLLER,
      KUBELET,
      DRIVER),
  STOP(
      "the VM's pod is deleted",
      WatchedObjects.Kind.PODS,
      "first\\|.*\\|.*\\|node.*\\|20\\d\\d-.*",
      1000,
      DAEMON,
      LAUNCHER,
      KUBELET,
      DRIVER),
  LEAVE(
      "the identities are deleted",
      WatchedObjects.Kind.IDENTITIES,
      ".*\\|20\\d\\d-.*",
      500,
      CONTROLLER,
      PROVISIONER,
      DRIVER,
      KUBELET),
  VOLUME(
      "their volumes are removed",
      WatchedObjects.Kind.VOLUMES,
      ".*\\|Released\\|.*",
      300,
      PROVISIONER,
      DRIVER,
      CONTROLLER),
  UNUSED(
      "the image has no user any more",
      WatchedObjects.Kind.IMAGES,
      "image-\\w+\\|.*\\|.*\\|20\\d\\d-.*\\|",
      6000,
      CONTROLLER,
      SNAPSHOT_CONTROLLER),
  FORGET(
      "the snapshot is deleted",
      WatchedObjects.Kind.SNAPSHOTS,
      "image-\\w+\\|.*\\|20\\d\\d-.*",
      300,
      SNAPSHOT_CONTROLLER,
      SNAPSHOTTER,
      DRIVER,
      CONTROLLER),
  CONTENT(
      "its bytes are removed",
      WatchedObjects.Kind.CONTENTS,
      ".*\\|20\\d\\d-.*",
      300,
      SNAPSHOTTER,
      SNAPSHOT_CONTROLLER,
      DRIVER);

  private final String words;
  private final WatchedObjects.Kind kind;
  private final Pattern seen;
  private final int longestPause;
  private final List<ImportActor> actors;

  /**
   * @param longestPause in milliseconds: how long it may take
   */
  ImportStep(
      String words,
      WatchedObjects.Kind kind,
      String seen,
      int longestPause,
      ImportActor... actors) {
    this.words = words;
    this.kind = kind;
    this.seen = Pattern.compile(seen);
    this.longestPause = longestPause;
    this.actors = List.of(actors);
  }

  String words() {
    return words;
  }

  WatchedObjects.Kind kind() {
    return kind;
  }

  /** What a line of that kind looks like when it has begun. */
  Pattern seen() {
    return seen;
  }

  int longestPause() {
    return longestPause;
  }

  List<ImportActor> actors() {
    return actors;
  }
}
