/**
 * What the node's daemon and the program in a launcher pod ({@code src/main/c/launch.c}) say to
 * each other: the VM's console is its output, its end is the VM's end.
 */
@NullMarked
package dev.platter.cluster.launch;

import org.jspecify.annotations.NullMarked;
