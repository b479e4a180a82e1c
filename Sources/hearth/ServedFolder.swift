import Glibc

/// A data folder, as commands on the server's machine find it.
struct ServedFolder {
    let path: String

    init(_ path: String) { self.path = path }

    /// A server has run on it, or keys were made for one.
    var isUsed: Bool {
        ["lock", "service-accounts.json", "admin-url", "accounts.sqlite"].contains { (name: String) in
            access("\(path)/\(name)", F_OK) == 0
        }
    }

    /// The user whose folder it is, where the superuser would leave files in it that this user's server cannot open.
    var foreignOwner: String? {
        var status = stat()
        guard geteuid() == 0, stat(path, &status) == 0, status.st_uid != 0 else { return nil }
        guard let entry = getpwuid(status.st_uid) else { return "#\(status.st_uid)" }
        return String(cString: entry.pointee.pw_name)
    }
}
