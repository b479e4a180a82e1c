import CHearthLinux
import Glibc

/// The process's limits of descriptors.
package enum FileDescriptors {
    /// Lets the process have as many as the system allows it, which is often more than it begins with.
    package static func raiseLimit() { linux_raise_descriptor_limit() }

    /// How many the process may have.
    package static var limit: Int {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return Int(clamping: limit.rlim_cur)
    }

    /// How many are open. Costs time in proportion to them.
    package static var openCount: Int {
        guard let entries = opendir("/proc/self/fd") else { return 0 }
        defer { closedir(entries) }
        var count = 0
        while readdir(entries) != nil { count += 1 }
        // Without `.`, `..` and the one that reads them.
        return max(count - 3, 0)
    }

    /// Whether so many more can be opened now. Costs two system calls for each.
    package static func areFree(_ count: Int) -> Bool {
        var opened: [Int32] = []
        defer { for descriptor in opened { Descriptor.close(descriptor) } }
        while opened.count < count {
            let descriptor = linux_reserve_descriptor()
            guard descriptor >= 0 else { return false }
            opened.append(descriptor)
        }
        return true
    }
}

/// Plain descriptors, closed explicitly by their owners.
package enum Descriptor {
    /// Closes the descriptor; ignores a negative one, which means none.
    package static func close(_ descriptor: Int32) {
        // Never repeated on EINTR: Linux has released the descriptor already, and another thread may own its number.
        if descriptor >= 0 { _ = Glibc.close(descriptor) }
    }
}
