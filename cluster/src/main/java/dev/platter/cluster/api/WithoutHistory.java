package dev.platter.cluster.api;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;

/**
 * Objects as we read them have no {@code managedFields}: who set which field is most of an object,
 * and a tree of maps for as long as the object is known. What is written without them the API
 * server takes as it is, and goes on with the history that it has.
 */
@JsonIgnoreProperties("managedFields")
public abstract class WithoutHistory {
  private WithoutHistory() {}
}
