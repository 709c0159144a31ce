/** What a VM is: records and sealed interfaces, no behaviour beyond validation. */
@NullMarked
package dev.platter.model;

import org.jspecify.annotations.NullMarked;
