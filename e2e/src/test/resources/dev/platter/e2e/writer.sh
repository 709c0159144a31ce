# usage: writer.sh VM SERIAL FIRST MILLISECONDS      in the small guest, which has busybox alone
#
# Writes one record after the other to the disk with that serial, from sector FIRST on, and says so on the console when the disk has
# answered that it is safe there. Goes on after the last record that the disk has. See Written.java.
disk=$(disk "$2") first=$3 pause=$(($4 * 1000))
read -r boot </proc/sys/kernel/random/boot_id
boot=${boot%%-*}
exec >/dev/ttyS0 2>&1
dmesg -n 4 # errors of the kernel, such as those of disks
n=$(dd if="$disk" bs=512 skip="$first" 2>/dev/null | tr -d '\000' | wc -l)
printf '@@BOOT %s %s %s\n' "$1" "$boot" "$n"
while :; do
  read -r clock _ </proc/uptime
  clock=${clock%.*}${clock#*.}
  record="$1 $boot $n $clock $(((n * 2654435761 ^ 0x$boot ^ clock) & 4294967295))"
  if printf '%-511s\n' "$record" |
    dd of="$disk" bs=512 count=1 seek=$((first + n)) iflag=fullblock oflag=direct conv=notrunc,fsync status=none; then
    printf '@@WROTE %s\n' "$record"
    n=$((n + 1))
  else
    printf '@@FAILED %s\n' "$record"
  fi
  usleep $pause
done
