/**
 * {@link dev.platter.model.Vm} to a plan, a domain XML and a cloud-init seed. Pure: nothing here
 * touches the machine.
 */
@NullMarked
package dev.platter.plan;

import org.jspecify.annotations.NullMarked;
