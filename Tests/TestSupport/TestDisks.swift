import CHearthFaults
import Glibc
import HearthSystem

/// Small disks of a test, one for each of its processes: their power can be cut, so that what was not synced is lost,
/// and they can be full.
///
/// Each is an ext4 in a file, mounted where only processes see it that are started with ``entering``. All of it goes
/// with the object, and with this process. Needs the rights to mount.
package final class TestDisks: Sendable {
    /// Whether the machine allows such disks. Says on stderr if not, and why.
    package static let isAvailable: Bool = {
        do {
            let disks = try TestDisks(["probe"], mebibytes: 8)
            try disks.cutPower("probe")
            try disks.restorePower("probe")
            return true
        } catch {
            let line = "no disks of their own: tests with power cuts and full disks are skipped (\(error))\n"
            let text = Array(line.utf8)
            _ = write(STDERR_FILENO, text, text.count)
            return false
        }
    }()

    private let folder = TemporaryFolder()
    /// A process in whose namespace the disks are mounted, until this pipe is closed.
    private let holder: ChildProcess
    private let pipe: Int32

    package init(_ names: [String], mebibytes: Int = 2048) throws {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { throw SystemError("make a pipe", code: errno) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        pipe = ends[1]
        defer { close(ends[0]) }
        // The namespace is there once the process says so.
        let ready = "\(folder.path)/ready"
        holder = try ChildProcess.start(
            ["unshare", "--mount", "sh", "-c", "echo > \(ready); exec cat"], output: "\(folder.path)/holder",
            input: ends[0])
        try blockUntil("a namespace") { access(ready, F_OK) == 0 || holder.hasEnded }
        for name in names {
            try script(
                """
                truncate --size \(mebibytes)M \(image(of: name))
                mkfs.ext4 -q -m 0 -N 4096 -E lazy_itable_init=1,lazy_journal_init=1,nodiscard \(image(of: name))
                mkdir \(path(of: name))
                \(mounting(name))
                """)
        }
    }

    deinit {
        holder.kill()
        close(pipe)
    }

    /// Where the disk is for processes that were started with ``entering``.
    package func path(of name: String) -> String { "\(folder.path)/\(name)" }

    /// The words before those of a program that starts it where the disks are.
    package var entering: [String] { ["/usr/bin/nsenter", "--mount=/proc/\(holder.number)/ns/mnt", "--"] }

    /// From now on nothing reaches the disk, and what was not synced before is lost. The processes that use it are to be
    /// killed.
    package func cutPower(_ name: String) throws {
        let code = faults_cut_power("/proc/\(holder.number)/root\(path(of: name))")
        guard code == 0 else { throw SystemError("cut the power of \(name)", code: code) }
    }

    /// No process uses the disk. It has room, as the removal of what filled it earlier may not have been synced.
    package func restorePower(_ name: String) throws {
        try script("umount \(path(of: name))\n\(mounting(name))")
        try free(name)
    }

    /// Leaves no room on it, or only as much as is said.
    package func fill(_ name: String, leaving mebibytes: Int = 0) throws {
        try script(
            """
            cd \(path(of: name))
            if [ \(mebibytes) -gt 0 ]; then
                fallocate --length $(($(stat --file-system --format '%a * %S' .) - (\(mebibytes) << 20))) filler
                exit
            fi
            fallocate --length $(($(stat --file-system --format '%a * %S' .))) filler || true
            cat /dev/zero >> filler.rest || true
            """)
    }

    /// Undoes ``fill(_:)``.
    package func free(_ name: String) throws { try script("rm -f \(path(of: name))/filler*") }

    private func image(of name: String) -> String { "\(folder.path)/\(name).image" }

    private func mounting(_ name: String) -> String {
        "mount -o loop,noinit_itable \(image(of: name)) \(path(of: name))"
    }

    private func script(_ text: String) throws {
        let log = "\(folder.path)/log"
        let code = try ChildProcess.run(entering + ["sh", "-e", "-c", text], output: log)
        guard code == 0 else {
            let said = String(decoding: TemporaryFolder.contents(of: log), as: UTF8.self)
            throw WaitedInVain(description: "\(text): \(code), \(said)")
        }
    }
}
