import HearthClusterNode
import HearthEtcdGateway
import HearthEventLoop
import HearthJSONValues
import HearthShell

extension Command {
    static let cluster = group(
        "cluster",
        summary: "Show a cluster, move, restore and rebuild its databases, and make certificates for it.",
        [
            Command(
                name: "status", synopsis: "--cluster MEMBERS",
                summary: "Show the members of etcd, the nodes, and who takes the writes of each database.",
                json: #"""
                    {"members": [{"address", "version", "leads", "bytes", or "error"}…], "nodes": [{"name", "address",
                    "peerAddress", "reads", "unreached": [NODE…]}…], "placement": [{"node", "drains"}…], "databases": [{"name",
                    "owner", "first", "last", "onDisk": {NODE: SEQUENCE…}, "holders": [NODE…], "copying": [NODE…],
                    "failing": [NODE…]}…], "format", "readByAll", "problems": [TEXT…]}. Without "placement" every node holds
                    everything. "format" is that of the values in etcd, "reads" the latest one that a node reads, and
                    "readByAll" the latest that all of them read.
                    """#,
                details: """
                    It asks etcd, and no node: which members answer, which nodes run and do not reach each other, which
                    node takes the writes of each database, which commits etcd still has, and how far each node's own
                    files reach (as nodes say every 5 seconds). Where databases are distributed over more than three nodes,
                    it shows the members, the holders of each database, and which other nodes follow it. It ends with 1 if a
                    member of etcd does not answer, is full or is of another etcd cluster than the others, no node runs, a
                    node does not reach another one, no database has begun, a database has no owner, a node that holds one
                    has not said how far it is or does not have its files, or a member does not run.
                    """, options: etcdOptions + Arguments.Option.output
            ) { arguments throws(UsageError) in
                _ = try arguments.positional()
                return showStatus(try stores(arguments), try tls(arguments), try ProgramOutput(arguments))
            },
            Command(
                name: "move", synopsis: "DATABASE NODE --cluster MEMBERS",
                summary: "Have another node take the writes of a database.",
                json: movesAsJSON,
                details: """
                    The present one finishes the writes that it has begun, and hands the database over; writes that come
                    meanwhile wait, and none is refused. The other node must run and have a copy. Nothing changes if it lags
                    behind by more than it can make up for within 10 seconds.
                    """, options: etcdOptions + Arguments.Option.output
            ) { arguments throws(UsageError) in
                let words = try arguments.positional("DATABASE", "NODE")
                return try move(arguments) { moves, output throws(OwnerMoves.Failure) in
                    guard let move = try moves.move(of: words[0], to: words[1]) else {
                        output.note("the node '\(words[1])' takes the writes of '\(words[0])' already")
                        return []
                    }
                    return [move]
                }
            },
            Command(
                name: "drain", synopsis: "NODE --cluster MEMBERS",
                summary: "Move all databases whose writes a node takes to other nodes, so that it can be stopped.",
                json: movesAsJSON,
                details: """
                    Until then it may take over databases of a node that dies. Where databases are distributed over more than
                    three nodes, the node is also marked: other nodes get copies of its databases, and it gets none again,
                    until --undo. It keeps its files until the others have them, which 'hearth cluster status' shows. For a
                    restart use --keep, which does not mark it.
                    """,
                options: [
                    .init(name: "undo", value: nil, help: "the node drains no more, and gets databases again"),
                    .init(name: "keep", value: nil, help: "only move the writes: the node keeps its databases"),
                ] + etcdOptions + Arguments.Option.output
            ) { arguments throws(UsageError) in
                let node = try arguments.positional("NODE")[0]
                let (isUndo, keeps) = (arguments.flag("undo"), arguments.flag("keep"))
                if isUndo, keeps { throw UsageError(message: "--undo and --keep exclude each other") }
                return try move(arguments) { moves, output throws(OwnerMoves.Failure) in
                    if isUndo {
                        let isPlaced = try moves.setDraining(node, false)
                        output.note(
                            isPlaced
                                ? "the node '\(node)' drains no more"
                                : "every node holds every database: there is nothing to undo")
                        return []
                    }
                    if !keeps, try moves.setDraining(node, true) {
                        output.note("the node '\(node)' drains: it keeps its files until other nodes have them")
                    }
                    let all = try moves.moves(from: node)
                    if all.isEmpty { output.note("the node '\(node)' takes the writes of no database") }
                    return all
                }
            },
            Command(
                name: "restore", synopsis: "DATABASE --from FILE --data DIR --cluster MEMBERS",
                summary: "Put a database of a cluster back to a backup.",
                json: #"{"database", "sequence", "before", "owner"}, where the numbers are commits."#,
                details: """
                    FILE comes from 'hearth backup', or is a folder of 'hearth backup --to'. All of it is checked first. DIR is
                    the data folder of a node with --peer-listen on this machine, which may run. The backup is copied into
                    it, and then etcd is told, in one transaction: no later write of the old state is acknowledged. That
                    node takes the backup over, and the others copy it from there. Each keeps its old files, with the time
                    after their names. Clients start over.
                    """,
                options: [
                    .init(name: "from", value: "FILE", help: "the backup of the database, or a folder with one"),
                    .init(name: "data", value: "DIR", help: "the data folder of a node of this machine"), sure,
                ] + etcdOptions + Arguments.Option.output
            ) { arguments throws(UsageError) in
                let database = try arguments.positional("DATABASE")[0]
                guard let source = arguments["from"] else { throw UsageError(message: "needs --from FILE") }
                guard let folder = arguments["data"] else { throw UsageError(message: "needs --data DIR") }
                try SignalledEnd.removesFiles()
                return try replacing(arguments).restore(database, from: source, in: folder)
            },
            Command(
                name: "rebuild", synopsis: "--cluster MEMBERS [OPTIONS]",
                summary: "Begin logs again that etcd has lost for good, with what the nodes have.",
                json: #"{"database", "from", "sequence", "owner"} for each log that was begun."#,
                details: """
                    All nodes with data have to run, with the new etcd, which is empty. Each says how far its files reach, which
                    is shown, and for each database the node counts whose files reach furthest. The others copy what they
                    lack. A log that etcd has is never overwritten.
                    """,
                options: [
                    .init(name: "database", value: "NAME", help: "this database alone (default: all that were lost)"),
                    .init(name: "from", value: "NODE", help: "what this node has counts, even if others have more"),
                    sure,
                ] + etcdOptions + Arguments.Option.output
            ) { arguments throws(UsageError) in
                _ = try arguments.positional()
                return try replacing(arguments).rebuild(arguments["database"], from: arguments["from"])
            },
            Command(
                name: "import", synopsis: "--data DIR --cluster MEMBERS [OPTIONS]",
                summary: "Begin the logs of a new cluster with the data of a server that was alone.",
                json: #"{"database", "sequence"} for each database, where the number is its last commit."#,
                details: """
                    The server has been stopped. Its databases, rules, settings and accounts are checked, and the cluster must
                    not have databases of the same names. Then the first node starts on the folder, and the others on empty
                    ones. A first node that starts without this command does the same, if no other one has begun the logs.
                    """,
                options: [
                    .init(name: "data", value: "DIR", help: "the data folder of the server"),
                    .init(name: "check", value: nil, help: "only check, and begin no log"),
                ] + etcdOptions + Arguments.Option.output
            ) { arguments throws(UsageError) in
                _ = try arguments.positional()
                guard let folder = arguments["data"] else { throw UsageError(message: "needs --data DIR") }
                return try replacing(arguments).importFolder(folder, isCheck: arguments.flag("check"))
            },
            Command(
                name: "place", synopsis: "DATABASE ETCD --cluster MEMBERS",
                summary: "Choose the etcd cluster of a database that does not exist yet, where there are several.",
                json: #"{"database", "etcd"}."#,
                details: """
                    ETCD is its name in --cluster, or 'home' for the first one. Otherwise the first node that opens the database
                    chooses the one with the fewest databases. The log of a database stays where it has begun.
                    """, options: etcdOptions + Arguments.Option.output
            ) { arguments throws(UsageError) in
                let words = try arguments.positional("DATABASE", "ETCD")
                let choice = StoreChoice(try stores(arguments), tls: try tls(arguments))
                let output = try ProgramOutput(arguments)
                do throws(StoreChoice.Failure) {
                    try choice.place(words[0], in: words[1])
                    output.show(
                        JSONObject(["database": .text(words[0]), "etcd": .text(words[1])]),
                        ["the log of the database '\(words[0])' begins in the etcd cluster '\(words[1])'"])
                    return .success
                } catch {
                    StandardError.write("hearth cluster: \(error)\n")
                    return .failure
                }
            },
            Command(
                name: "upgrade", synopsis: "--cluster MEMBERS",
                summary: "Allow the nodes to write into etcd what earlier versions do not read.",
                json: #"{"before", "format"}, the format before and now."#,
                details: """
                    After an upgrade of all nodes: until then they write what the earlier version reads too, so that it can be
                    put back. All nodes must be running. There is no way back to a version that does not read the new format. A
                    new cluster has it from the start. With format 2 the nodes compress what they append to logs.
                    """, options: etcdOptions + Arguments.Option.output
            ) { arguments throws(UsageError) in
                _ = try arguments.positional()
                return upgrade(try stores(arguments), try tls(arguments), try ProgramOutput(arguments))
            },
            Command(
                name: "certificates", synopsis: "DIR NAME=HOST… [OPTIONS]",
                summary: "Make an authority of the cluster's own in a folder, and a certificate for each machine.",
                json: #"{"file"} for each file that was written."#,
                details: """
                    An authority that is there stays; then the folder must have both ca.pem and ca-key.pem. NAME=HOST,HOST
                    names a machine's certificate, and says by which names and addresses others reach it. Nodes and members
                    of etcd on a machine use the same one. Whoever has ca-key.pem can make further ones: keep it elsewhere,
                    and put it back to make more. No file is replaced: if one is in the way, the command says so, and writes
                    nothing.
                    """,
                options: [.init(name: "days", value: "N", help: "certificates are valid for N days (default 3650)")]
                    + Arguments.Option.output
            ) { arguments throws(UsageError) in try makeCertificates(arguments) },
        ])

    private static let etcdOptions: [Arguments.Option] = [
        .init(
            name: "cluster", value: "MEMBERS",
            help: "the members of etcd, as for 'hearth serve': \"etcd://HOST,HOST [NAME=etcd://HOST …]\""),
        .init(name: "cluster-ca", value: "FILE", help: "PEM, the authority of the cluster, where etcd needs TLS"),
        .init(name: "cluster-cert", value: "FILE", help: "PEM, a certificate of that authority"),
        .init(name: "cluster-key", value: "FILE", help: "PEM, its private key"),
    ]

    private static let sure = Arguments.Option(name: "yes", letter: "y", value: nil, help: "do not ask")

    private static func replacing(_ arguments: Arguments) throws(UsageError) -> ClusterReplacing {
        ClusterReplacing(
            replacements: LogReplacements(try stores(arguments), tls: try tls(arguments)), arguments: arguments,
            output: try ProgramOutput(arguments))
    }

    private static let movesAsJSON = #"{"database", "from", "to", "problem" if it is not moved} for each."#

    private static func stores(_ arguments: Arguments) throws(UsageError) -> [EtcdStore] {
        guard let list = arguments["cluster"] else { throw UsageError(message: "needs --cluster MEMBERS") }
        do throws(EtcdAddressError) { return try EtcdStore.list(list) } catch {
            throw UsageError(message: "--cluster: \(error)")
        }
    }

    private static func tls(_ arguments: Arguments) throws(UsageError) -> TLSContext? {
        guard let security = try ClusterSecurity(arguments) else { return nil }
        do throws(TLSError) { return try security.client() } catch { throw UsageError(message: "\(error)") }
    }

    private static func makeCertificates(_ arguments: Arguments) throws(UsageError) -> ExitCode {
        let words = arguments.positional
        guard let folder = words.first, words.count > 1 else {
            throw UsageError(message: "needs a folder, and NAME=HOST,HOST for each machine")
        }
        let days = try arguments.integer("days", 1...36_500) ?? ClusterCertificates.daysDefault
        var files = try ProgramOutput(arguments).list
        do throws(ClusterCertificates.Failure) {
            try ClusterCertificates(folder: folder, days: days).make(Array(words.dropFirst())) {
                files.append(JSONObject(["file": .text($0)]), [$0])
            }
            files.end()
            return .success
        } catch {
            StandardError.write("hearth cluster: \(error)\n")
            return .failure
        }
    }

    private static func showStatus(
        _ stores: [EtcdStore], _ tls: TLSContext?, _ output: ProgramOutput
    ) -> ExitCode {
        var overview = ClusterOverview(stores, tls: tls)
        var problems: [String] = []
        do {
            try overview.read()
            problems = overview.problems
        } catch {
            problems = ["etcd does not say what it has: \(error)"]
        }
        var json = overview.json
        json["problems"] = problems.json
        output.show(json, overview.lines)
        for problem in problems { StandardError.write("hearth cluster: \(problem)\n") }
        return problems.isEmpty ? .success : .failure
    }

    private static func upgrade(_ stores: [EtcdStore], _ tls: TLSContext?, _ output: ProgramOutput) -> ExitCode {
        do throws(FormatUpgrade.Failure) {
            let (before, after) = try FormatUpgrade(stores, tls: tls).run()
            let json = JSONObject([
                "before": .integer(Int64(before)), "format": .integer(Int64(after)),
            ])
            output.show(
                json,
                [
                    before == after
                        ? "the cluster has the format \(after) already"
                        : "the cluster has the format \(after) now, and had \(before)"
                ])
            return .success
        } catch {
            StandardError.write("hearth cluster: \(error)\n")
            return .failure
        }
    }

    private static func move(
        _ arguments: Arguments,
        _ plan: (OwnerMoves, ProgramOutput) throws(OwnerMoves.Failure) -> [OwnerMoves.Move]
    ) throws(UsageError) -> ExitCode {
        let moves = OwnerMoves(try stores(arguments), tls: try tls(arguments))
        let output = try ProgramOutput(arguments)
        var results = output.list
        var code = ExitCode.success
        do throws(OwnerMoves.Failure) {
            moves.make(try plan(moves, output)) { move, failure in
                results.append(
                    JSONObject([
                        "database": .text(move.database), "from": .text(move.from), "to": .text(move.to),
                        "problem": failure.map { .text("\($0)") },
                    ]), failure == nil ? ["the node '\(move.to)' takes the writes of '\(move.database)' now"] : [])
                guard let failure else { return }
                StandardError.write("hearth cluster: '\(move.database)' is not moved: \(failure)\n")
                code = .failure
            }
            results.end()
        } catch {
            StandardError.write("hearth cluster: \(error)\n")
            code = .failure
        }
        return code
    }
}

extension ClusterSecurity {
    /// The files of `--cluster-ca`, `--cluster-cert` and `--cluster-key`, which belong together; nil without them.
    init?(_ arguments: Arguments) throws(UsageError) {
        switch (arguments["cluster-ca"], arguments["cluster-cert"], arguments["cluster-key"]) {
        case (nil, nil, nil): return nil
        case (let authority?, let certificate?, let key?):
            self.init(authorityFile: authority, certificate: .init(certificateFile: certificate, keyFile: key))
        default: throw UsageError(message: "--cluster-ca, --cluster-cert and --cluster-key belong together")
        }
    }
}
