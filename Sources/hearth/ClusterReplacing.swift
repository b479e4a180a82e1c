import Glibc
import HearthBackups
import HearthClusterNode
import HearthDatabaseHost
import HearthIdentity
import HearthJSONValues
import HearthReplicatedLog
import HearthShell
import HearthStorageErrors
import HearthSystem
import HearthTreeStorage

/// `hearth cluster restore`, `rebuild` and `import`: each gives logs of the cluster another beginning.
struct ClusterReplacing {
    let replacements: LogReplacements
    let arguments: Arguments
    let output: ProgramOutput

    /// A node takes a log over once it has the files, which may have to be read and copied.
    private static let patience = Duration.seconds(120)
    /// A node that was just started has its name once the lease of the process before it has ended.
    private static let registrationTime = Duration.seconds(5)

    private func fail(_ text: String) -> ExitCode {
        StandardError.write("hearth cluster: \(text)\n")
        return .failure
    }

    // MARK: Restoring

    func restore(_ database: String, from source: String, in folder: String) -> ExitCode {
        if database == DataFolder.clusterDatabase {
            return fail(
                "'\(database)', which has accounts, rules and settings, cannot be restored by itself: put back everything, "
                    + "as docs/operating/cluster.md says")
        }
        let file = BackupSet.isSet(source) ? "\(source)/\(database).backup" : source
        let epoch = UInt64.random(in: 1 ... .max)
        do {
            guard let present = try replacements.log(of: database), let before = present.head?.lastSequence else {
                return fail("the cluster has no database '\(database)'")
            }
            if let problem = try problem(of: folder, for: database, present) ?? Self.lackOfSpace(for: file, in: folder)
            {
                return fail(problem)
            }
            let copy = try RestoredCopy(of: file, of: database, in: folder, epoch: epoch)
            output.note("\(file): \(copy.summary.text)")
            let what = "the database '\(database)' of the cluster, at commit \(before), is replaced by \(file)"
            if let code = Confirmation.refusal(of: what, arguments, command: "cluster restore") {
                copy.discard()
                return code
            }
            return try restore(copy, from: present, epoch)
        } catch let error as LogReplacements.Failure {
            return fail(error.description)
        } catch let error as BackupError {
            return fail(error.message)
        } catch {
            return fail("\(error)")
        }
    }

    /// Why no node of the cluster would find a copy in a folder; nil if the files there are of the cluster.
    private func problem(
        of folder: String, for database: String, _ log: LogReplacement.Present
    ) throws -> String? {
        guard FolderContents(folder).isFolder else { return "there is no data folder \(folder)" }
        let problem =
            "\(folder) is not the data folder of a node of this cluster: it has no files of '\(database)' that are of the "
            + "cluster's log"
        if let end = try DataFolder.logEnd(of: database, in: folder) { return log.hasHad(end.epoch) ? nil : problem }
        // Empty files do not tell.
        let shared = DataFolder.clusterDatabase
        if let end = try DataFolder.logEnd(of: shared, in: folder), let log = try replacements.log(of: shared) {
            return log.hasHad(end.epoch) ? nil : problem
        }
        let isEmpty = log.head?.lastSequence == 0 && FolderContents(folder).databases.contains(database)
        return isEmpty ? nil : problem
    }

    /// The copy, and the files that are made of it.
    private static func lackOfSpace(for file: String, in folder: String) -> String? {
        var status = stat()
        guard stat(file, &status) == 0, let space = DiskSpace(of: folder) else { return nil }
        let needed = 2 * Int64(status.st_size)
        guard space.available < needed else { return nil }
        return "\(ByteText(Int(needed))) are needed in \(folder), and \(ByteText(Int(space.available))) are free"
    }

    private func restore(
        _ copy: RestoredCopy, from present: LogReplacement.Present, _ epoch: UInt64
    ) throws(LogReplacements.Failure) -> ExitCode {
        let (database, sequence) = (copy.summary.database, copy.summary.sequence)
        let before: UInt64
        copy.keep()
        do throws(LogReplacements.Failure) {
            before = try replacements.restore(database, from: present, epoch: epoch, lastSequence: sequence)
        } catch {
            // Otherwise the nodes wait for it.
            if !error.isUnknown { copy.discard() }
            let advice = "it is not known whether it was restored: run the command again"
            guard error.isUnknown else { throw error }
            throw LogReplacements.Failure(description: "\(error); \(advice)", isUnknown: true)
        }
        output.note("the database '\(database)' ends at commit \(sequence) now; before, it ended at \(before)")
        let owner = try awaitOwner(of: database, epoch)
        output.show(
            JSONObject([
                "database": .text(database), "sequence": .integer(Int64(clamping: sequence)),
                "before": .integer(Int64(clamping: before)), "owner": owner.map { .text($0) },
            ]), owner.map { ["the node '\($0)' takes the writes of '\(database)' now"] } ?? [])
        if owner != nil { return .success }
        return fail("no node has taken '\(database)' over yet: the node whose data folder was named has to run")
    }

    private func awaitOwner(of database: String, _ epoch: UInt64) throws(LogReplacements.Failure) -> String? {
        let hasNodes = try !replacements.nodes().isEmpty
        return try replacements.awaitOwner(
            of: database, epoch: epoch, atMost: hasNodes ? Self.patience : Self.registrationTime)
    }

    // MARK: Rebuilding

    func rebuild(_ database: String?, from node: String?) -> ExitCode {
        do throws(LogReplacements.Failure) {
            if let database, try replacements.log(of: database) != nil {
                return fail("etcd has a log of the database '\(database)', which is not overwritten")
            }
            let logs = try lostLogs(database)
            guard !logs.isEmpty else {
                return fail(
                    database.map { "no node that runs misses a log of the database '\($0)'" }
                        ?? "no node that runs misses a log")
            }
            let nodes = try replacements.nodes()
            var choices: [(log: LogReplacements.LostLog, files: LogReplacements.LostLog.Files)] = []
            for log in logs {
                output.note("\(log.database)")
                for files in log.files { output.note("  \(files.node)  has \(files.sequence) on disk") }
                for name in log.without { output.note("  \(name)  has none") }
                let silent = nodes.filter { name in
                    !log.without.contains(name) && !log.files.contains { $0.node == name }
                }
                for name in silent { output.note("  \(name)  has not said what it has") }
                if let name = silent.first, node == nil {
                    return fail(
                        "the node '\(name)' runs, and has not said what it has of '\(log.database)': wait for it, or stop it "
                            + "if its data folder is a new one; --from NODE begins the log all the same")
                }
                if log.files.isEmpty {
                    return fail("no node that runs has files of '\(log.database)': start those that have some")
                }
                guard let files = node.map({ name in log.files.first { $0.node == name } }) ?? log.newest else {
                    return fail(
                        node.map { "the node '\($0)' has not said what it has of '\(log.database)'" }
                            ?? """
                            the files of '\(log.database)' are of histories that have nothing to do with each other: \
                            --from NODE says which of them count
                            """)
                }
                for other in log.files where other.sequence > files.sequence || !other.isBeginning(of: files) {
                    output.note("  what \(other.node) has, and \(files.node) has not, is lost; its files are set aside")
                }
                choices.append((log, files))
            }
            let list = choices.map { "'\($0.log.database)' with what \($0.files.node) has" }.joined(separator: ", ")
            let what =
                "begins the log of \(list). What only nodes have that do not run, and what only etcd had, is lost"
            if let code = Confirmation.refusal(of: what, arguments, command: "cluster rebuild") { return code }
            guard try lostLogs(database) == logs else {
                return fail("nodes have come, gone, or said something else meanwhile: run the command again")
            }
            return try rebuild(choices)
        } catch {
            return fail(error.description)
        }
    }

    private func lostLogs(_ database: String?) throws(LogReplacements.Failure) -> [LogReplacements.LostLog] {
        try replacements.lostLogs().filter { database == nil || $0.database == database }
    }

    private func rebuild(
        _ choices: [(log: LogReplacements.LostLog, files: LogReplacements.LostLog.Files)]
    ) throws(LogReplacements.Failure) -> ExitCode {
        var begun: [(database: String, files: LogReplacements.LostLog.Files, epoch: UInt64)] = []
        for (log, files) in choices {
            let epoch = try replacements.establish(log.database, with: files.past, givingUp: log.files.map(\.past))
            begun.append((log.database, files, epoch))
        }
        var code = ExitCode.success
        var list = output.list
        for (database, files, epoch) in begun {
            let owner = try awaitOwner(of: database, epoch)
            list.append(
                JSONObject([
                    "database": .text(database), "from": .text(files.node),
                    "sequence": .integer(Int64(clamping: files.sequence)), "owner": owner.map { .text($0) },
                ]), owner.map { ["the node '\($0)' takes the writes of '\(database)' now"] } ?? [])
            if owner == nil { code = fail("no node has taken '\(database)' over yet: '\(files.node)' has to run") }
        }
        list.end()
        return code
    }

    // MARK: Importing

    /// - parameter isCheck: nothing is changed.
    func importFolder(_ folder: String, isCheck: Bool) -> ExitCode {
        let contents = FolderContents(folder)
        guard contents.isFolder else { return fail("there is no data folder \(folder)") }
        do {
            // No server may run on it, and none starts meanwhile.
            let data = try DataFolder(path: folder, durability: .full)
            var problems = Self.problems(of: contents, folder)
            var logs: [(database: String, past: LogPast, sequence: UInt64)] = []
            for database in contents.databases {
                do throws(StorageError) {
                    let (past, sequence) = try Self.past(of: database, in: data) { problems.append($0) }
                    if sequence > 0 { logs.append((database, past, sequence)) }
                } catch {
                    problems.append("the database '\(database)': \(error.message)")
                }
            }
            let missed = try replacements.lostLogs().map(\.database)
            // An earlier attempt was interrupted.
            var begun: Set<String> = []
            for (database, past, _) in logs {
                if let present = try replacements.log(of: database) {
                    if present.hasBegun(with: past) {
                        begun.insert(database)
                    } else {
                        problems.append("the cluster has a database '\(database)' already")
                    }
                } else if missed.contains(database) {
                    problems.append(
                        "nodes that run have files of '\(database)': 'hearth cluster rebuild' begins its log again")
                }
            }
            let shared = DataFolder.clusterDatabase
            if try replacements.log(of: shared) != nil {
                problems.append(
                    "the cluster has accounts, rules and settings ('\(shared)') already, and would not take those of \(folder)"
                )
            }
            if contents.files.contains("\(shared).log") {
                problems.append(
                    "\(folder) has files of another cluster: move \(shared).log and \(shared).tree away if that is gone"
                )
            }
            if logs.isEmpty, problems.isEmpty { problems.append("nothing was ever written to a database in \(folder)") }
            for problem in problems { _ = fail(problem) }
            if !problems.isEmpty { return .failure }
            var list = output.list
            for (database, past, sequence) in logs {
                if !isCheck, !begun.contains(database) { _ = try replacements.establish(database, with: past) }
                list.append(
                    JSONObject(["database": .text(database), "sequence": .integer(Int64(clamping: sequence))]),
                    [
                        isCheck
                            ? "the database '\(database)' can be imported, up to commit \(sequence)"
                            : "the cluster has the database '\(database)', up to commit \(sequence)"
                    ])
            }
            list.end()
            // Those of an earlier cluster.
            if !isCheck { contents.forgetCluster() }
            if !isCheck { output.note("start the first node on \(folder), and the others on empty folders") }
            return .success
        } catch let error as LogReplacements.Failure {
            return fail(error.description)
        } catch let error as StorageError {
            return fail(error.message)
        } catch {
            return fail("\(error)")
        }
    }

    /// Rules, settings and accounts with which no node could start.
    private static func problems(of contents: FolderContents, _ folder: String) -> [String] {
        var problems = Accounts.check(folder: folder)?.problems.map { "accounts: \($0)" } ?? []
        for file in contents.rulesFiles {
            do throws(RulesInForce.LoadError) { _ = try RulesInForce.read(file) } catch {
                problems.append(error.message)
            }
        }
        for file in contents.settingsFiles {
            do throws(RulesInForce.LoadError) { _ = try RulesInForce.settings(file) } catch {
                problems.append(error.message)
            }
        }
        for file in contents.foreignFiles where file != "lock" {
            problems.append("\(folder)/\(file) does not belong to the owner of the folder")
        }
        return problems
    }

    /// The histories of the files of a database, and the last commit.
    private static func past(
        of database: String, in data: DataFolder, problem: (String) -> Void
    ) throws(StorageError) -> (LogPast, UInt64) {
        let (log, _) = try data.open(database, newEpoch: .random(in: 1 ... .max), isShared: true) {
            problem("the database '\(database)': \($0)")
        }
        if log.isOfCluster {
            problem(
                "the database '\(database)' has files of a cluster: 'hearth cluster rebuild' begins its log again if "
                    + "etcd was lost")
        }
        return (LogPast(log), log.lastSequence)
    }
}

extension LogReplacements.LostLog.Files {
    /// Whether other files have all that these have.
    fileprivate func isBeginning(of other: Self) -> Bool {
        guard let last = past.epochs.last else { return true }
        return other.past.epochs.contains { $0.name == last.name && last.end <= $0.end }
    }
}
