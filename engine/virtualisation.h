/* Whether this machine is one. Names are those that systemd-detect-virt uses. */
#pragma once

/* "kvm", "vmware", ..., "vm-other" for one that does not say, "none" for bare metal; NULL where
 * the machine has no way to tell. */
const char *virtual_machine(void);
/* From the CPU's hypervisor signature; NULL if it is not known. */
const char *virtual_by_signature(const char *signature);
/* From the maker's name in DMI; NULL if it is not known. */
const char *virtual_by_maker(const char *maker);
