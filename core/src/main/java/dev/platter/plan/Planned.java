package dev.platter.plan;

import org.jspecify.annotations.Nullable;

/**
 * What planning gives: the plan, and beside it the texts that belong to it.
 *
 * @param domainXml null where the plan is not whole
 */
public record Planned(Plan plan, @Nullable String domainXml, @Nullable Seed seed) {
  /** The whole of which this is the beginning, after it is known what the rest is. */
  public Planned then(Planned rest) {
    return new Planned(plan.then(rest.plan), rest.domainXml, rest.seed);
  }
}
