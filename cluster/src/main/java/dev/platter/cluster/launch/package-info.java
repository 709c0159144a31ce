/**
 * The program in a launcher pod: the VM's console is its output, its end is the VM's end. It uses
 * nothing but the JDK, since there is one for each VM.
 */
@NullMarked
package dev.platter.cluster.launch;

import org.jspecify.annotations.NullMarked;
