package dev.platter.image.qcow2;

import dev.platter.image.BadImageException;

/**
 * Keeps entries from using the same compressed bytes over and over. Streams of an honest image lie
 * side by side, so their lengths add up to no more than the file. An entry gives its length rounded
 * up to sectors (up to 511 bytes too many), and a stream that fills a cluster cannot be shorter
 * than its compression allows; the sum of the larger of both must fit into the file. That needs no
 * memory, and what a file can still expand to is what its compression method could do honestly.
 */
final class CompressedBudget {
  private final int shortest;
  private long left;

  CompressedBudget(Header header, long fileSize) {
    this.shortest = header.compression().shortestStream(header.clusterSize());
    this.left = fileSize;
  }

  void spend(int bound, long at) throws BadImageException {
    left -= Math.max(shortest, bound - 511);
    if (left < 0) {
      throw Refused.at(at, "compressed clusters claim more bytes than the file has");
    }
  }
}
