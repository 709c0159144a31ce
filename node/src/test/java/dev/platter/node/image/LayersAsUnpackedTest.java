package dev.platter.node.image;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.image.oci.OciLayout;
import dev.platter.lab.Shell;
import dev.platter.model.ImageLogins;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The files of stacked layers, mounted by the kernel, beside what umoci unpacks of the image. */
class LayersAsUnpackedTest {
  /** Kind, bits, owner, links, size, time, target and attributes; a directory has its own size. */
  private static final String LIST =
      """
      cd "$1"
      find . -mindepth 1 ! -path ./lost+found -print0 | LC_ALL=C sort -z | while IFS= read -r -d '' f; do
        stat -c '%N %f %u:%g %t,%T' -- "$f"
        [ -d "$f" ] || stat -c '%h %s %y' -- "$f"
        getfattr --absolute-names -h -d -m - -e hex -- "$f" | grep -v '^# file' || true
        [ ! -f "$f" -o -L "$f" ] || sha256sum < "$f"
      done
      """;

  @TempDir Path work;

  private void image() {
    Shell.run(
        "bash",
        "-euc",
        """
        cd $0 && umask 022
        add() { tar --format=pax --xattrs --xattrs-include='*' --numeric-owner --sort=name -C $1 -cf $1.tar .
          umoci raw add-layer --image oci:all $1.tar; }
        umoci init --layout oci && umoci new --image oci:all

        mkdir -p a/{bin,lib/deep/er,opaque/sub,gone,etc,re} && cd a
        echo one > bin/tool && chmod 6755 bin/tool && ln bin/tool bin/also && ln -s tool bin/link
        setfattr -n user.kept -v 1 bin/tool
        setfattr -n security.capability -v 0x0100000202000000000000000000000000000000 bin/also
        echo lib > lib/deep/er/file && : > lib/empty && chown 4000000:3000000 lib/empty
        mknod lib/zero c 1 5 && mknod lib/disk b 259 70000 && mkfifo -m 602 lib/pipe && chmod 3775 lib
        echo x > opaque/x && echo y > opaque/sub/y && ln opaque/x lib/survivor
        echo z > gone/z && echo f > re/file && mkdir re/dir && echo d > re/dir/in
        mkdir -p hard/{deep,more} && cd hard && for f in first third fourth fifth deep/in more/x more/y; do
          echo $f > $f; done && ln -s ../re sym && cd ..
        echo cfg > 'etc/a name with  spaces' && echo u > etc/$'uml\\xc3\\xa4ut' && touch -d @1 etc/old
        touch -d 2040-01-01T00:00:00.123456789Z etc/new && cd .. && add a

        mkdir -p b/{bin,lib,opaque,re} && cd b
        touch bin/.wh.also opaque/.wh..wh..opq .wh.gone && echo n > opaque/new
        cp --preserve=all ../a/bin/tool bin/tool && setfattr -x security.capability bin/tool
        setfattr -n user.kept -v 2 bin/tool && ln bin/tool bin/third
        mkdir re/file && echo in > re/file/in && echo was-a-directory > re/dir && chmod 700 lib
        mknod lib/pipe c 5 1 && cd .. && add b

        mkdir -p c/{bin,gone,lib/deep} && cd c
        echo back > gone/again && touch lib/deep/.wh.er && ln -s /nowhere bin/third && touch lib/.wh.zero
        cd .. && add c

        python3 -c '
        import tarfile
        with tarfile.open("d.tar", "w") as tar:
          def add(name, to=None):
            info = tarfile.TarInfo("hard/" + name)
            if to: info.type, info.linkname = tarfile.LNKTYPE, "hard/" + to
            tar.addfile(info)
          add("second", "first"); add(".wh.first"); add("again", "third"); add(".wh.again")
          add("fourth", "fifth"); add(".wh.fourth"); add("kept", "deep/in"); add(".wh.deep")
          add("more/.wh.x"); add(".wh.more"); add("link", "sym"); add(".wh.sym")
        '
        umoci raw add-layer --image oci:all d.tar
        umoci config --image oci:all --config.cmd /bin/tool
        umoci unpack --image oci:all bundle
        """,
        work);
  }

  @Test
  void everyFileIsAsUmociUnpacksIt() throws IOException {
    image();
    var layout = new StateLayout(work.resolve("state"), work.resolve("run"));
    var images =
        new ContainerImages(
            layout,
            tag -> new ImageSources.Located(new OciLayout(work.resolve("oci")), tag, tag),
            LayerMaker.HERE);
    var step = new Step.EnsureLayers("all", images.resolve("all", ImageLogins.NONE));
    images.ensure(step, ImageLogins.NONE, Images.BytesDone.NOBODY);
    var top = layout.layerDisk(step.image().layers().getLast());
    var ours =
        Shell.run(
            "unshare",
            "--mount",
            "--propagation",
            "private",
            "bash",
            "-euc",
            """
            qemu-img convert -f qcow2 -O raw "$1" "$2/disk.raw"
            mkdir "$2/mounted" && mount -o loop,ro "$2/disk.raw" "$2/mounted"
            set -- "$2/mounted"
            """
                + LIST,
            "list",
            top,
            work);
    var theirs = Shell.run("bash", "-euc", LIST, "list", work.resolve("bundle/rootfs"));
    assertThat(ours).isEqualTo(theirs);
    assertThat(theirs)
        .contains("opaque/new", "gone/again", "hard/second", "hard/again")
        .doesNotContain("opaque/x", "bin/also", "hard/first", "hard/more");
  }
}
