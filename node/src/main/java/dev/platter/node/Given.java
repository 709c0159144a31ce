package dev.platter.node;

import dev.platter.model.SecretData;
import dev.platter.plan.Seed;
import org.jspecify.annotations.Nullable;

/**
 * What a start needs beside the plan, because it is secret and a plan is not.
 *
 * @param seed the cloud-init files; null where the seed is on the disk already
 */
record Given(@Nullable Seed seed, SecretData secrets) {}
