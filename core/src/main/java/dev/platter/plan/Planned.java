package dev.platter.plan;

import dev.platter.model.GuestFile;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What planning gives: the plan, and beside it what belongs to it and may hold secrets.
 *
 * @param domainXml null where the plan is not whole
 * @param rootFiles the files that go into the root file system
 */
public record Planned(
    Plan plan, @Nullable String domainXml, @Nullable Seed seed, List<GuestFile> rootFiles) {
  public Planned {
    rootFiles = List.copyOf(rootFiles);
  }

  /** The whole of which this is the beginning, after it is known what the rest is. */
  public Planned then(Planned rest) {
    return new Planned(plan.then(rest.plan), rest.domainXml, rest.seed, rest.rootFiles);
  }
}
