/** Disks on web servers that QEMU cannot open itself. */
@NullMarked
package dev.platter.node.web;

import org.jspecify.annotations.NullMarked;
