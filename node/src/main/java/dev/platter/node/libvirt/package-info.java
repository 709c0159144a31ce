/**
 * libvirt, called directly, and the libvirtd that is Platter's own.
 *
 * <p>{@link dev.platter.node.libvirt.Libvirt} is one connection with its domains, secrets and
 * pools; {@link dev.platter.node.libvirt.PrivateLibvirt} starts the daemon it talks to; {@link
 * dev.platter.node.libvirt.KvmProbe} says which accelerator a domain should ask for.
 */
@NullMarked
package dev.platter.node.libvirt;

import org.jspecify.annotations.NullMarked;
