package dev.platter.model;

/** Where the bytes of a disk come from. */
public sealed interface Source
    permits ImageSource,
        ContainerImageSource,
        FileSource,
        BlankSource,
        VolumeSource,
        IscsiSource,
        RbdSource,
        NbdSource,
        GlusterSource,
        HttpSource,
        DeviceSource,
        DiskImgSource,
        ClaimSource,
        ContainerSource,
        ServedSource,
        IdentitySource {
  /** The word that users know this kind of source by. */
  String kind();
}
