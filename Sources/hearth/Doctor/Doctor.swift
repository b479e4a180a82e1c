import HearthEventLoop
import Glibc
import HearthHTTPCodec
import HearthJSONValues
import HearthServer
import HearthSystem
import HearthTreeStorage
import HearthAccess
import HearthBackups

/// Looks at an installation. Changes nothing, except that it writes and removes one small file to time the disk.
struct Doctor {
    struct Finding {
        enum State: String {
            case good = "ok"
            case warning, failure
        }

        var state: State
        var what: String
        /// The remedy. Empty if no remedy is known.
        var advice = ""

        var json: JSONObject {
            JSONObject([
                "state": .text(state.rawValue), "finding": .text(what), "advice": advice.isEmpty ? nil : .text(advice),
            ])
        }

        var text: String {
            let mark = state.rawValue.padded(to: 8)
            return advice.isEmpty ? "\(mark) \(what)" : "\(mark) \(what)\n         -> \(advice)"
        }
    }

    private(set) var findings: [Finding] = []
    let configuration: ServerConfiguration
    /// Nil for those of the system.
    let authorities: String?
    private let contents: FolderContents
    private var folder: String { configuration.dataFolder }

    init(_ configuration: ServerConfiguration, authorities: String?) {
        self.configuration = configuration
        self.authorities = authorities
        contents = FolderContents(configuration.dataFolder)
    }

    var hasFailed: Bool { findings.contains { $0.state == .failure } }

    private mutating func add(_ state: Finding.State, _ what: String, _ advice: String = "") {
        findings.append(Finding(state: state, what: what, advice: advice))
    }

    // MARK: This machine

    mutating func examineConfiguration() {
        add(.good, "hearth \(Version.current), SQLite \(DataFolder.engineVersion)")
        let check = ConfigurationCheck(configuration)
        for finding in check.findings where !finding.isOfRunningServer {
            add(finding.severity == .error ? .failure : .warning, finding.text)
        }
        if !check.hasErrors { add(.good, "the configuration, the rules and the certificate are in order") }
    }

    mutating func examineFolder() {
        guard contents.isFolder else {
            return add(.warning, "there is no data folder \(folder) yet", "the server makes it when it starts")
        }
        let open = contents.files.filter { file in
            var status = stat()
            return lstat("\(folder)/\(file)", &status) == 0 && status.st_mode & S_IFMT == S_IFREG
                && status.st_mode & 0o077 != 0
        }
        if let file = open.min() {
            add(
                .warning, "others may read \(open.count) files of the data folder, such as \(file)",
                "chmod go= \(folder)/*")
        }
        let interrupted = contents.files.filter { $0.hasSuffix(".restoring") }
        for file in interrupted {
            add(.failure, "a restore was interrupted: \(file)", "run 'hearth restore' again for this database")
        }
        let databases = contents.databases
        add(.good, "\(databases.count) databases in \(folder): \(databases.prefix(10).joined(separator: ", "))")
        for name in databases {
            for file in ["\(name).log-wal", "\(name).tree-wal"] {
                var status = stat()
                guard stat("\(folder)/\(file)", &status) == 0, status.st_size > 1 << 30 else { continue }
                add(
                    .warning, "\(file) has \(status.st_size >> 20) MiB",
                    "look for exports, backups or large reads that do not end: they keep it from being emptied")
            }
        }
    }

    mutating func examineDisk() {
        guard contents.isFolder else { return }
        if let name = NetworkFileSystem.name(of: folder) {
            add(
                .failure, "\(folder) is on \(name), where SQLite loses data", "use a disk of this machine")
        }
        if let space = DiskSpace(of: folder) {
            let share = space.total == 0 ? 0 : space.available * 100 / space.total
            add(
                share < 10 ? .warning : .good, "\(space.available >> 20) MiB are free on the disk (\(share) %)",
                share < 10 ? "make room, or shorten the history (--history-hours, --history-mib)" : "")
        }
        guard access(folder, W_OK | X_OK) == 0 else { return }
        guard let times = SyncTimes(in: folder) else {
            return add(.failure, "a file in \(folder) cannot be written and synced", "look at the disk and its log")
        }
        let isSlow = times.slow > .milliseconds(100)
        add(
            isSlow ? .warning : .good, "syncing 4 KiB takes \(times.text)",
            isSlow ? "each commit waits for this: use a faster disk, or --durability process" : "")
    }

    mutating func examineLimits() {
        FileDescriptors.raiseLimit()
        let limit = FileDescriptors.limit
        let wanted = configuration.connectionsMax
        if limit < min(wanted, 10_000) {
            add(
                .warning, "a process may have \(limit) files and connections open",
                "LimitNOFILE= in the unit, or ulimit -n; --connections-max says how many connections there may be")
        } else {
            add(.good, "a process may have \(limit) files and connections open")
        }
    }

    mutating func examineBackups(now: Int64) {
        guard contents.isFolder, !configuration.isDevelopment else { return }
        guard let last = BackupStatus(in: folder) else {
            return add(
                .warning, "there was no backup of \(folder) yet",
                "hearth backup --to DIR --keep N, by a timer: deploy/hearth-backup.timer")
        }
        let hours = (now - last.time) / 3_600_000
        add(
            hours > 26 ? .warning : .good, "the last backup was made \(hours) hours ago",
            hours > 26 ? "see whether the timer runs: systemctl list-timers hearth-backup" : "")
    }

    // MARK: The server

    mutating func examineServer() {
        guard contents.isServed else { return add(.good, "no server runs on \(folder)") }
        guard let url = AdminURL(in: folder), let address = DoctorProbe.Address(url.text) else {
            return add(.warning, "a server runs, but \(folder)/admin-url does not say where", "restart it")
        }
        do throws(WaitingConnection.Failure) {
            let answer = try DoctorProbe(serverOf: address, authorities: authorities).get("/readyz")
            if answer.status == 200 {
                add(.good, "the server at \(url.text) is ready")
            } else {
                add(.failure, "the server at \(url.text) is \(answer.text.trimmed)", "its log says more")
            }
            if let seconds = answer.clockDifference(now: WallClock.milliseconds / 1000), abs(seconds) > 5 {
                add(.warning, "the server's clock differs by \(seconds) s from that of this machine", "use NTP")
            }
        } catch {
            add(.failure, "the server at \(url.text) does not answer: \(error)", "look at its log")
        }
        if !address.isLoopback {
            add(
                .warning, "administrators are answered at \(url.text), beyond this machine",
                "--admin-listen 127.0.0.1:9001, unless a firewall keeps strangers out")
        }
    }

    /// Through the proxy, as clients come.
    mutating func examinePublic(_ address: DoctorProbe.Address) {
        do throws(WaitingConnection.Failure) {
            let probe = DoctorProbe(address, .init(authorities: authorities))
            let health = try probe.get("/healthz")
            guard health.status == 200, health.text == "ok\n" else {
                return add(
                    .failure, "\(address.text)/healthz is not answered by hearth (status \(health.status))",
                    "look at the proxy's configuration: deploy/proxies has examples")
            }
            add(.good, "\(address.text) leads to hearth")
            if let seconds = health.clockDifference(now: WallClock.milliseconds / 1000), abs(seconds) > 5 {
                add(.warning, "the server's clock differs by \(seconds) s from that of this machine", "use NTP")
            }
            if try probe.get("/.settings/rules.json").status != 404 {
                add(
                    .warning, "\(address.text) leads to the listener for administrators",
                    "let the proxy use the public listener (--listen)")
            }
            let (status, hello) = try probe.openWebSocket()
            guard status == 101 else {
                return add(
                    .failure, "a WebSocket cannot be opened through \(address.text) (status \(status))",
                    "the proxy must pass on Upgrade and Connection over HTTP/1.1")
            }
            let expected = "\"h\":\"\(address.authority)\""
            if hello.contains(expected) {
                add(.good, "WebSockets pass, and clients are told to come back to \(address.authority)")
            } else {
                add(
                    .failure, "clients are told to come back to another host than \(address.authority): \(hello)",
                    "the proxy must pass on Host with its port, or --advertise \(address.authority)")
            }
        } catch {
            add(.failure, "\(address.text): \(error)", "look at the proxy and at DNS")
        }
    }
}

extension ConfigurationCheck.Finding {
    /// A running server is expected to use its ports.
    fileprivate var isOfRunningServer: Bool { text.hasPrefix("a server runs on") }
}
