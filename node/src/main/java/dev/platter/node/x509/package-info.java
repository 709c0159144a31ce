/** Certificates of our own making, for servers that only our own clients talk to. */
@NullMarked
package dev.platter.node.x509;

import org.jspecify.annotations.NullMarked;
