#include "services/net/access/rights.h"

#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace runnel::net {

Status become_user(const std::string& name) {
  std::vector<char> room(16384);
  passwd entry{};
  passwd* found = nullptr;
  const int error = getpwnam_r(name.c_str(), &entry, room.data(), room.size(), &found);
  if (found == nullptr) {
    return Status(Code::not_found) << "user \"" << name << "\": "
                                   << (error == 0 ? "there is none of this name" : std::strerror(error));
  }
  if (entry.pw_uid == 0)
    return Status(Code::invalid_argument) << "user \"" << name << "\": expected another user than root";
  if (geteuid() == entry.pw_uid && getuid() == entry.pw_uid) return {};  // nothing to give up
  if (geteuid() != 0)
    return Status(Code::invalid_argument)
           << "user \"" << name << "\": only root can become another user; start as root, or without --user";
  const auto failed = [&](const char* what) {
    return Status(Code::io_error) << "user \"" << name << "\": " << what << ": " << std::strerror(errno);
  };
  // Groups first: without root's rights they could not be changed any more.
  if (initgroups(name.c_str(), entry.pw_gid) != 0) return failed("its groups cannot be taken");
  if (setresgid(entry.pw_gid, entry.pw_gid, entry.pw_gid) != 0) return failed("its group cannot be taken");
  if (setresuid(entry.pw_uid, entry.pw_uid, entry.pw_uid) != 0) return failed("it cannot be taken");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return failed("later rights cannot be excluded");
  // A way back would make all of this worthless.
  if (setuid(0) == 0 || seteuid(0) == 0 || setgid(0) == 0 || getuid() != entry.pw_uid ||
      geteuid() != entry.pw_uid || getgid() != entry.pw_gid || getegid() != entry.pw_gid)
    return Status(Code::io_error) << "user \"" << name << "\": the rights of root are still there";
  return {};
}

}  // namespace runnel::net
