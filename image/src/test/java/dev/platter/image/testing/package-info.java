/** Foreign tools and made-up bytes for the tests of this module. */
package dev.platter.image.testing;
