import HearthDatabaseHost
import HearthEventLoop
import HearthDatabaseScheduler
import Glibc
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthServerLog
import HearthSystem
import HearthTreeStorage
import HearthTriggers
import HearthAccess
import HearthAccountEndpoints
import HearthBackups
import HearthRealtimeSessions

/// Everything that `/metrics` tells, as of one moment for each thread. `docs/operating/monitoring.md` explains each
/// metric; names are kept from version to version.
package struct MetricsPage: Sendable {
    let loops: [LoopMetrics.Report]
    let databases: [DatabaseFigures]
    /// Nil without a cluster.
    let placement: PlacementFigures?
    /// How long the databases' thread was busy with the question.
    let databaseThreadTime: Duration
    let server: AdministeredServer

    /// Databases with samples of their own; the rest are summed up as one.
    static let databasesMax = 100
    /// Queues with samples of their own, of all databases; others have none.
    static let queuesMax = 100

    /// Asks the loops, the databases' thread and the system, and calls `then` on the helper thread.
    package static func gather(_ server: AdministeredServer, then: @escaping @Sendable ([UInt8]) -> Void) {
        server.connected.metrics { loops in
            server.databases.ask { databases in
                let start = MonotonicTime.current
                let (figures, placement) = (databases.figures, databases.placementFigures)
                let page = MetricsPage(
                    loops: loops, databases: figures, placement: placement, databaseThreadTime: .current - start,
                    server: server)
                server.helper.post { then(page.text) }
            }
        }
    }

    /// On the helper thread: asks the system.
    var text: [UInt8] {
        var out = MetricsText()
        addServer(to: &out)
        addConnections(to: &out)
        addRequests(to: &out)
        addStorage(to: &out)
        addBackups(to: &out)
        addArchive(to: &out)
        addDatabases(to: &out)
        if let placement { Self.add(placement, to: &out) }
        addQueues(to: &out)
        addTriggers(to: &out)
        addAccounts(to: &out)
        return out.bytes
    }

    private func sum(_ figure: (LoopMetrics.Report) -> Int64) -> Int64 { loops.reduce(0) { $0 + figure($1) } }

    // MARK: The server

    private func addServer(to out: inout MetricsText) {
        let system = SystemFigures(folder: server.configuration.dataFolder)
        out.begin("hearth_build_info", .gauge, "The version of the server.")
        out.sample(["version": Version.current, "sqlite": DataFolder.engineVersion], 1)
        out.add("hearth_ready", .gauge, "Whether /readyz says so.", server.readiness.problem == nil ? 1 : 0)
        if server.configuration.isClustered {
            out.add(
                "hearth_cluster_lease", .gauge, "Whether this node of a cluster has its lease.",
                server.readiness.hasLease ? 1 : 0)
        }
        out.add(
            "process_start_time_seconds", .gauge, "When the server started, since 1970.",
            Double(server.startedAt) / 1000)
        out.add("process_cpu_seconds_total", .counter, "Processor time of the process.", system.usage.seconds)
        out.add("process_resident_memory_bytes", .gauge, "Memory of the process.", system.usage.memory)
        out.add("process_open_fds", .gauge, "Open file descriptors.", system.openDescriptors)
        out.add("process_max_fds", .gauge, "File descriptors that the process may have.", system.descriptorsMax)
        if let space = system.space {
            out.add(
                "hearth_data_filesystem_available_bytes", .gauge, "Free space where the data folder is.",
                space.available)
            out.add("hearth_data_filesystem_size_bytes", .gauge, "The size of that file system.", space.total)
        }
        out.begin("hearth_memory_bytes", .gauge, "Memory in use of a budget that all clients share.")
        let outbound = server.outbound
        out.sample(["budget": "requests"], server.requestMemory.bytesUsed)
        out.sample(["budget": "kept"], server.databases.keptMemory.bytesUsed)
        out.sample(["budget": "outbound"], outbound.bytesUsed)
        out.sample(["budget": "delivery"], server.databases.backlogBytes)
        // Each link to another node has a limit of its own.
        out.sample(["budget": "answers"], server.databases.answerBytes)
        out.begin("hearth_memory_limit_bytes", .gauge, "The limit of that budget.")
        out.sample(["budget": "requests"], server.requestMemory.bytesMax)
        out.sample(["budget": "kept"], server.databases.keptMemory.bytesMax)
        out.sample(["budget": "outbound"], outbound.bytesMax)
        out.sample(["budget": "delivery"], server.configuration.backlogBytesMax)
        out.begin("hearth_log_messages_total", .counter, "Lines of the server's log.")
        for (level, count) in server.log.counts { out.sample(["level": level.name], count) }
        if let expiry = server.tls?.expiry {
            out.add(
                "hearth_tls_certificate_expiry_timestamp_seconds", .gauge,
                "When the server's certificate ends to be valid.", expiry)
        }
        let values = server.metrics.values
        out.begin("hearth_rules_reloads_total", .counter, "Times that the rules file had changed.")
        out.sample(["result": "taken"], values.ruleReloads)
        out.sample(["result": "refused"], values.failedRuleReloads)
        out.add(
            "hearth_rules_last_reload_success", .gauge, "Whether the rules file is the one in force.",
            values.hasRefusedRules ? 0 : 1)
    }

    // MARK: Connections

    private func addConnections(to out: inout MetricsText) {
        let polled = sum { Int64($0.polledSessions) }
        let streams = sum { Int64($0.metrics.eventStreams) }
        out.begin("hearth_connections", .gauge, "Realtime sessions, event streams, and other HTTP connections.")
        out.sample(["transport": "websocket"], max(sum { Int64($0.sessions) } - polled, 0))
        out.sample(["transport": "long_polling"], polled)
        out.sample(["transport": "event_stream"], streams)
        out.sample(["transport": "http"], max(sum { Int64($0.httpConnections) } - streams, 0))
        out.add(
            "hearth_connections_limit", .gauge, "Connections that may be open.", server.configuration.connectionsMax)
        out.begin("hearth_connections_opened_total", .counter, "The same, opened since the start.")
        for transport in LoopMetrics.Transport.allCases {
            out.sample(["transport": "\(transport.name)"], sum { $0.metrics.opened[transport.rawValue] })
        }
        out.begin("hearth_connections_closed_total", .counter, "Connections that ended, by the cause.")
        for end in LoopMetrics.End.allCases {
            out.sample(["reason": "\(end.name)"], sum { $0.metrics.closed[end.rawValue] })
        }
        out.begin("hearth_connections_refused_total", .counter, "Connections closed at once, by the limit.")
        out.sample(["limit": "all"], server.listeners.reduce(0) { $0 + $1.refusedCount })
        out.sample(["limit": "address"], server.listeners.reduce(0) { $0 + $1.crowdedCount.count })
        out.begin("hearth_tls_handshakes_total", .counter, "TLS handshakes.")
        out.sample(["result": "ok"], sum { Int64($0.handshakes) })
        out.sample(["result": "failed"], sum { Int64($0.failedHandshakes) })
        out.add("hearth_received_bytes_total", .counter, "Bytes from clients.", sum { Int64($0.bytesReceived) })
        out.add("hearth_sent_bytes_total", .counter, "Bytes to clients.", sum { Int64($0.bytesSent) })
        out.add(
            "hearth_pushes_total", .counter, "Changes that were told, once for each connection.",
            sum { $0.metrics.pushes })
        out.begin("hearth_loop_turn_duration_seconds", .histogram, "How long events had to wait for an event loop.")
        for (index, loop) in loops.enumerated() { out.sample(["loop": "\(index)"], loop.turns) }
    }

    // MARK: Requests

    private func addRequests(to out: inout MetricsText) {
        let tally = server.metrics.requests
        out.begin("hearth_requests_total", .counter, "Requests to databases, by how they ended.")
        for kind in RequestKind.allCases {
            for outcome in RequestTally.Outcome.allCases {
                out.sample(
                    ["operation": "\(kind.name)", "code": "\(outcome.name)"], tally.count(kind, outcome))
            }
        }
        out.begin(
            "hearth_request_duration_seconds", .histogram, "From the arrival of a request to its answer, by sampling.")
        for kind in RequestKind.allCases {
            var all = Histogram(.durations)
            for loop in loops { all.merge(loop.metrics.latencies[kind.rawValue]) }
            out.sample(["operation": "\(kind.name)"], all)
        }
        out.add(
            "hearth_unindexed_queries_total", .counter, "Queries that looked at all children for want of an index.",
            tally.unindexedCount)
        out.begin("hearth_resumes_total", .counter, "Listeners that came back with a position.")
        out.sample(["result": "resumed"], tally.resumedCount)
        out.sample(["result": "anew"], tally.begunAnewCount)
    }

    // MARK: Storage

    private func addStorage(to out: inout MetricsText) {
        let values = server.metrics.values
        out.add("hearth_commit_duration_seconds", "Writing and syncing a commit of the log.", values.commits)
        out.add("hearth_commit_turns", "Turns in a commit of the log.", values.commitTurns)
        out.add("hearth_commit_bytes", "Bytes in a commit of the log.", values.commitBytes)
        out.add("hearth_commit_failures_total", .counter, "Commits that failed.", values.failedCommits)
        out.add("hearth_apply_duration_seconds", "Writing changed rows to a tree file.", values.applies)
        out.add(
            "hearth_scrape_database_thread_seconds", .gauge, "What this page has cost the databases' thread.",
            Double(databaseThreadTime.components.attoseconds) / 1e18 + Double(databaseThreadTime.components.seconds))
    }

    private func addQueues(to out: inout MetricsText) {
        let queues = databases.lazy.flatMap { figures in figures.queues.lazy.map { (figures.name, $0) } }
            .prefix(Self.queuesMax)
        if queues.isEmpty { return }
        func add(_ name: String, _ kind: MetricsText.Kind, _ help: StaticString, _ figure: (QueueStatus) -> Int64) {
            out.begin(name, kind, help)
            for (database, queue) in queues {
                out.sample(["database": database, "queue": "/\(queue.pattern.text)"], figure(queue))
            }
        }
        add("hearth_queue_jobs_claimed_total", .counter, "Jobs that were handed out to workers.") { $0.tally.claimed }
        add("hearth_queue_jobs_done_total", .counter, "Jobs that were done.") { $0.tally.done }
        add("hearth_queue_attempts_failed_total", .counter, "Attempts that failed, as their worker said.") {
            $0.tally.failed
        }
        add("hearth_queue_leases_ended_total", .counter, "Attempts whose worker said nothing in time.") {
            $0.tally.abandoned
        }
        add("hearth_queue_jobs_dead_total", .counter, "Jobs that were given up.") { $0.tally.dead }
        add("hearth_queue_workers_waiting", .gauge, "Workers that wait for a job.") { Int64($0.waitingWorkers) }
    }

    private func addTriggers(to out: inout MetricsText) {
        let triggers = server.databases.triggers.figures.prefix(Self.databasesMax)
        if triggers.isEmpty { return }
        func add(
            _ name: String, _ kind: MetricsText.Kind, _ help: StaticString, _ figure: (TriggerFigures) -> Int64
        ) {
            out.begin(name, kind, help)
            for trigger in triggers {
                out.sample(["database": trigger.database, "trigger": trigger.trigger], figure(trigger))
            }
        }
        add("hearth_trigger_events_delivered_total", .counter, "Events of triggers that receivers have taken.") {
            $0.delivered
        }
        add("hearth_trigger_attempts_failed_total", .counter, "Attempts to deliver an event that failed.") {
            $0.failures
        }
        add("hearth_trigger_events_set_aside_total", .counter, "Events that were given up.") { $0.setAside }
        add("hearth_trigger_events_waiting", .gauge, "Events in memory that are not delivered.") { Int64($0.waiting) }
        add("hearth_trigger_receiver_down", .gauge, "Whether the receiver takes nothing at the moment.") {
            $0.isOut ? 1 : 0
        }
    }

    private func addBackups(to out: inout MetricsText) {
        guard let last = BackupStatus(in: server.configuration.dataFolder) else { return }
        out.add(
            "hearth_backup_last_success_timestamp_seconds", .gauge,
            "When 'hearth backup --to' last succeeded with this data folder.", Double(last.time) / 1000)
        out.add("hearth_backup_last_size_bytes", .gauge, "What it took.", last.byteCount)
        out.add(
            "hearth_backup_last_duration_seconds", .gauge, "How long it took.", Double(last.milliseconds) / 1000)
    }

    private func addArchive(to out: inout MetricsText) {
        guard let archiver = server.archiver else { return }
        let all = archiver.figures.sorted { $0.key < $1.key }
        let (shown, rest) = (all.prefix(Self.databasesMax), all.dropFirst(Self.databasesMax))
        out.begin(
            "hearth_archive_last_success_timestamp_seconds", .gauge,
            "When everything committed before was last in the archive.")
        for (name, figures) in shown { out.sample(["database": name], Double(figures.lastSuccess ?? 0) / 1000) }
        if let oldest = rest.map({ $0.value.lastSuccess ?? 0 }).min() {
            out.sample(["database": "(others)"], Double(oldest) / 1000)
        }
        let accounts = archiver.accountsFigures
        out.begin(
            "hearth_archive_accounts_last_success_timestamp_seconds", .gauge,
            "When every change of accounts, keys, rules and settings before was last in the archive.")
        out.sample([:], Double(accounts.lastSuccess ?? 0) / 1000)
        out.add(
            "hearth_archive_failures_total", .counter, "Attempts to extend an archive that failed.",
            all.reduce(accounts.failures) { $0 + $1.value.failures })
        out.add(
            "hearth_archive_gaps_total", .counter, "Times that the log no longer continued an archive.",
            all.reduce(0) { $0 + $1.value.gaps })
    }

    // MARK: Databases

    private func addDatabases(to out: inout MetricsText) {
        out.add("hearth_databases", .gauge, "Databases that are open.", databases.count)
        let shown = databases.prefix(Self.databasesMax)
        let rest = databases.dropFirst(Self.databasesMax)
        func family(_ name: String, _ help: StaticString, _ value: (DatabaseFigures) -> Int64) {
            out.begin(name, .gauge, help)
            for figures in shown { out.sample(["database": figures.name], value(figures)) }
            if !rest.isEmpty { out.sample(["database": "(others)"], rest.reduce(0) { $0 + value($1) }) }
        }
        family("hearth_database_sequence", "The last operation.") { Int64(clamping: $0.sequence) }
        family("hearth_database_durable_sequence", "The last one in the log.") { Int64(clamping: $0.durableSequence) }
        family("hearth_database_applied_sequence", "The last one in the tree file.") {
            Int64(clamping: $0.appliedSequence)
        }
        family("hearth_database_pending_apply_bytes", "Changed rows that are not in the tree file.") {
            Int64($0.changedBytes)
        }
        family("hearth_database_resident_bytes", "Memory for rows in use.") { Int64($0.residentBytes) }
        family("hearth_database_listeners", "Listeners.") { Int64($0.listeners) }
        family("hearth_database_held_requests", "Requests that wait.") { Int64($0.heldRequests) }
        family("hearth_database_read_only", "Whether it refuses writes.") { $0.refusal == nil ? 0 : 1 }
        if server.configuration.isClustered {
            family("hearth_database_owner", "Whether this node takes its writes.") { $0.ownership == .owner ? 1 : 0 }
        }
        family("hearth_database_file_bytes", "Its files.") { server.byteCount(of: $0.name) }
    }

    // MARK: Placement

    private static func add(_ placement: PlacementFigures, to out: inout MetricsText) {
        out.begin("hearth_cluster_etcd_lease", .gauge, "Whether this node has its lease in an etcd cluster.")
        for (name, isHeld) in placement.leases.sorted(by: { $0.key < $1.key }) {
            out.sample(["etcd": name], isHeld ? 1 : 0)
        }
        out.begin("hearth_cluster_members", .gauge, "Members among which databases are distributed.")
        out.sample(["state": "member"], placement.members - placement.draining)
        out.sample(["state": "draining"], placement.draining)
        out.begin("hearth_cluster_databases", .gauge, "Databases of this node, by what it has to do with them.")
        out.sample(["state": "held"], placement.held)
        out.sample(["state": "visited"], placement.visited)
        out.sample(["state": "leaving"], placement.leaving)
        out.sample(["state": "copying"], placement.copying)
        out.add(
            "hearth_cluster_waiting_requests", .gauge, "Requests that wait for databases to be copied or removed.",
            placement.waitingRequests)
        out.add(
            "hearth_cluster_databases_removed_total", .counter,
            "Databases whose files were removed because other nodes hold them.", placement.removed)
    }

    // MARK: Accounts

    private func addAccounts(to out: inout MetricsText) {
        out.begin("hearth_account_events_total", .counter, "Events of the audit trail.")
        for (kind, count) in server.trail.counts { out.sample(["event": kind.rawValue], count) }
        guard let mail = server.identity?.mail else { return }
        out.begin("hearth_mails_total", .counter, "Mails with one-time codes.")
        for end in CodeMailer.End.allCases { out.sample(["result": "\(end.name)"], mail.count(of: end)) }
    }
}
