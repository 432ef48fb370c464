// System V shared memory within one process. IPC_PRIVATE only: under QEMU the segments are the host's.
#include "guest.h"

#include <sys/mman.h>
#include <sys/shm.h>

enum { kPage = 4096 };

static void show_segment(int id) {
  struct shmid_ds facts;
  if (shmctl(id, IPC_STAT, &facts)) {
    printf("segment: %s\n", strerrorname_np(errno));
    return;
  }
  printf("segment of %lu bytes, mode %o, attached %lu, attach time %s, detach time %s\n", (unsigned long)facts.shm_segsz,
         facts.shm_perm.mode & 07777, (unsigned long)facts.shm_nattch, facts.shm_atime ? "set" : "none",
         facts.shm_dtime ? "set" : "none");
}

static void contents_stay(void) {
  int id = shmget(IPC_PRIVATE, 5000, IPC_CREAT | 0640);
  REQUIRE(id >= 0);
  show_segment(id);
  char* first = shmat(id, NULL, 0);
  REQUIRE(first != (char*)-1);
  SHOW(first[0] + first[8191]);
  first[0] = 'x';
  first[4999] = 'y';
  show_segment(id);
  SHOW(shmdt(first + kPage));
  SHOW(shmdt(first));
  SHOW(shmdt(first));
  show_segment(id);
  char* second = shmat(id, first + 123, SHM_RND);
  SHOW(second == first);
  printf("%c%c\n", second[0], second[4999]);
  SHOW(munmap(second, 2 * kPage));
  show_segment(id);
  char* third = shmat(id, NULL, SHM_RDONLY);
  printf("%c%c\n", third[0], third[4999]);
  SHOW(mprotect(third, kPage, PROT_READ | PROT_WRITE));
  SHOW(shmctl(id, IPC_RMID, NULL));
  show_segment(id);
  printf("%c%c\n", third[0], third[4999]);
  SHOW(shmdt(third));
  show_segment(id);
}

static void errors(void) {
  int id = shmget(IPC_PRIVATE, kPage, 0600);
  SHOW(shmget(IPC_PRIVATE, 0, 0600));
  SHOW(shmat(-1, NULL, 0));
  SHOW(shmat(id, (void*)0x20000001, 0));
  SHOW(shmctl(id, IPC_STAT, nowhere));
  SHOW(shmctl(id, 99, NULL));
  SHOW(shmdt((void*)0x20000000));
  SHOW(shmctl(id, IPC_RMID, NULL));
  SHOW(shmctl(id, IPC_RMID, NULL));
  SHOW(shmat(id, NULL, 0));
}

int main(void) {
  contents_stay();
  errors();
  return 0;
}
