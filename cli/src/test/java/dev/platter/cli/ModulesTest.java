package dev.platter.cli;

import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

/** Who may use whom: the table in docs/architecture.md. */
@AnalyzeClasses(packages = "dev.platter", importOptions = ImportOption.DoNotIncludeTests.class)
class ModulesTest {
  @ArchTest
  static final ArchRule MODULES_USE_ONLY_WHAT_THE_TABLE_ALLOWS =
      layeredArchitecture()
          .consideringOnlyDependenciesInAnyPackage("dev.platter..")
          .layer("model")
          .definedBy("dev.platter.model..")
          .layer("dialect")
          .definedBy("dev.platter.dialect..")
          .layer("plan")
          .definedBy("dev.platter.plan..")
          .layer("image")
          .definedBy("dev.platter.image..")
          .layer("registry")
          .definedBy("dev.platter.registry..")
          .layer("block")
          .definedBy("dev.platter.block..")
          .layer("node")
          .definedBy("dev.platter.node..")
          .layer("cluster")
          .definedBy("dev.platter.cluster..")
          .layer("cli")
          .definedBy("dev.platter.cli..")
          .whereLayer("model")
          .mayNotAccessAnyLayer()
          .whereLayer("dialect")
          .mayOnlyAccessLayers("model")
          .whereLayer("plan")
          .mayOnlyAccessLayers("model")
          .whereLayer("image")
          .mayNotAccessAnyLayer()
          .whereLayer("registry")
          .mayOnlyAccessLayers("image")
          .whereLayer("block")
          .mayOnlyAccessLayers("image", "registry")
          .whereLayer("node")
          .mayOnlyAccessLayers("model", "dialect", "plan", "image", "registry", "block")
          .whereLayer("cluster")
          .mayOnlyAccessLayers("model", "dialect", "plan", "image", "registry", "block", "node")
          .whereLayer("cli")
          .mayNotBeAccessedByAnyLayer();

  @ArchTest
  static final ArchRule PACKAGES_HAVE_NO_CYCLES =
      slices().matching("dev.platter.(**)").should().beFreeOfCycles();

  @ArchTest
  static final ArchRule THE_CORE_TOUCHES_NOTHING =
      com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses()
          .that()
          .resideInAnyPackage("dev.platter.model..", "dev.platter.dialect..", "dev.platter.plan..")
          .should()
          .dependOnClassesThat()
          .haveFullyQualifiedName("java.nio.file.Files")
          .orShould()
          .dependOnClassesThat()
          .haveFullyQualifiedName("java.lang.ProcessBuilder")
          .orShould()
          .dependOnClassesThat()
          .resideInAPackage("java.net.http..");
}
