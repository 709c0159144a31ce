package dev.platter.cluster.controller;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class KeptDisksTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          {image: 'r.example/d:1'}, keep: true                          | true
          {image: 'r.example/d:1'}                                      | false
          {image: 'r.example/d:1'}, copy: {mode: clone}, keep: true     | true
          {blank: {}}, size: 1Gi, keep: true                            | true
          {blank: {}}, size: 1Gi                                        | false
          {pvc: data}                                                   | false
          {pvc: data}, copy: {mode: copy-on-write}, keep: true          | true
          {nbd: {host: 192.0.2.1, export: data}}                        | false
          """)
  void onlyLocalFilesThatOutliveAStopBindAVmToANode(String source, boolean kept) {
    var vm = Objects.vm("running: true", "- {name: d, source: " + source + "}");
    assertThat(KeptDisks.any(VmSpec.of(vm).read(vm))).isEqualTo(kept);
  }
}
