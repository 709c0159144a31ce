/** What has to be in a cluster so that VMs can run there, as YAML. */
@NullMarked
package dev.platter.cluster.install;

import org.jspecify.annotations.NullMarked;
