package dev.platter.block.base;

/**
 * How many blocks of a base, or of a part of it, are what.
 *
 * @param missing not there yet
 * @param fetched came from the registry
 * @param zero known to be zeros; take no room
 * @param copied came from another base
 */
public record BlockCounts(long missing, long fetched, long zero, long copied) {
  public long total() {
    return missing + fetched + zero + copied;
  }

  public long present() {
    return total() - missing;
  }
}
