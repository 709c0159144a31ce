package dev.platter.model;

/**
 * The image that is written to a claim, once, before the claim is used.
 *
 * @param image as {@link ImageSource} has it
 * @param claim {@code NAMESPACE/NAME}
 * @param refill what the claim says to have it written once more; each word counts once. Empty if
 *     it says nothing, or was not looked at yet
 */
public record Fill(String image, String claim, String refill) {
  /** The claim's name in its namespace. */
  public String claimName() {
    return claim.substring(claim.indexOf('/') + 1);
  }

  Fill withRefill(String word) {
    return new Fill(image, claim, word);
  }
}
