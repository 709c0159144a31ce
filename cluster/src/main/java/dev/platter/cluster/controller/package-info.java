/**
 * The controllers: VM objects become pods, groups become VM objects. What to do is decided by pure
 * functions ({@link dev.platter.cluster.controller.VmRules}, {@code GroupRules}); what is around
 * them reads informers and carries decisions out.
 */
@NullMarked
package dev.platter.cluster.controller;

import org.jspecify.annotations.NullMarked;
