package dev.platter.plan;

import org.jspecify.annotations.Nullable;

/** What planning gives: the plan, and beside it the texts that belong to it. */
public record Planned(Plan plan, String domainXml, @Nullable Seed seed) {}
