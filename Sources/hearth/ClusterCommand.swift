import HearthClusterNode
import HearthEtcdGateway
import HearthEventLoop
import HearthShell

extension Command {
    static let cluster = Command(
        name: "cluster",
        synopsis: "status | move DATABASE NODE | drain NODE --cluster MEMBERS, or certificates DIR NAME=HOST…",
        summary: "Show a cluster, say which nodes take the writes of its databases, and make certificates for it.",
        details: """
            status asks etcd, and no node: which members answer, which nodes run, which node takes the
            writes of each database, which commits etcd still has, and how far each node's own files reach
            (as nodes say every 5 seconds). It ends with 1 if a member does not answer, no node runs, a
            database has no owner, or a node has not said how far it is.

            move has another node take the writes of a database. The present one finishes the writes that
            it has begun, and hands the database over; writes that come meanwhile wait, and none is
            refused. The other node must run and have a copy. Nothing changes if it lags behind by more
            than it can make up for within 10 seconds.

            drain moves all databases whose writes a node takes to other nodes, so that it can be stopped.
            Until then it may take over databases of a node that dies.

            certificates makes an authority of the cluster's own in a folder, unless it is there, and a
            certificate for each machine: NAME=HOST,HOST names it, and says by which names and addresses
            others reach it. Nodes and members of etcd on a machine use the same one. Whoever has
            ca-key.pem can make further ones: keep it elsewhere.
            """,
        options: [
            .init(
                name: "cluster", value: "MEMBERS",
                help: "the members of etcd, as for 'hearth serve': etcd://HOST:PORT,HOST:PORT,HOST:PORT"),
            .init(name: "days", value: "N", help: "certificates are valid for N days (default 3650)"),
            .init(name: "cluster-ca", value: "FILE", help: "PEM, the authority of the cluster, where etcd needs TLS"),
            .init(name: "cluster-cert", value: "FILE", help: "PEM, a certificate of that authority"),
            .init(name: "cluster-key", value: "FILE", help: "PEM, its private key"),
        ]
    ) { arguments throws(UsageError) in
        let words = arguments.positional
        if words.first == "certificates" { return try makeCertificates(arguments) }
        let usage = UsageError(message: "needs status, move DATABASE NODE, drain NODE, or certificates DIR NAME=HOST…")
        guard let verb = words.first, ["status": 1, "move": 3, "drain": 2][verb] == words.count else { throw usage }
        let members = try members(arguments)
        let tls = try tls(arguments)
        switch verb {
        case "status": return showStatus(members, tls)
        case "move":
            return move(OwnerMoves(members, tls: tls)) { moves throws(OwnerMoves.Failure) in
                guard let move = try moves.move(of: words[1], to: words[2]) else {
                    StandardOutput.line("the node '\(words[2])' takes the writes of '\(words[1])' already")
                    return []
                }
                return [move]
            }
        default:
            return move(OwnerMoves(members, tls: tls)) { moves throws(OwnerMoves.Failure) in
                let all = try moves.moves(from: words[1])
                if all.isEmpty { StandardOutput.line("the node '\(words[1])' takes the writes of no database") }
                return all
            }
        }
    }

    private static func members(_ arguments: Arguments) throws(UsageError) -> [EtcdMember] {
        guard let list = arguments["cluster"] else { throw UsageError(message: "needs --cluster MEMBERS") }
        do throws(EtcdAddressError) { return try EtcdMember.list(list) } catch {
            throw UsageError(message: "--cluster: \(error)")
        }
    }

    private static func tls(_ arguments: Arguments) throws(UsageError) -> TLSContext? {
        guard let security = try ClusterSecurity(arguments) else { return nil }
        do throws(TLSError) { return try security.client() } catch { throw UsageError(message: "\(error)") }
    }

    private static func makeCertificates(_ arguments: Arguments) throws(UsageError) -> ExitCode {
        let words = arguments.positional.dropFirst()
        guard let folder = words.first, words.count > 1 else {
            throw UsageError(message: "needs a folder, and NAME=HOST,HOST for each machine")
        }
        let days = try arguments.integer("days", 1...36_500) ?? ClusterCertificates.daysDefault
        do throws(ClusterCertificates.Failure) {
            try ClusterCertificates(folder: folder, days: days).make(Array(words.dropFirst())) {
                StandardOutput.line($0)
            }
            return .success
        } catch {
            StandardError.write("hearth cluster: \(error)\n")
            return .failure
        }
    }

    private static func showStatus(_ members: [EtcdMember], _ tls: TLSContext?) -> ExitCode {
        var overview = ClusterOverview(members, tls: tls)
        var problems: [String] = []
        do {
            try overview.read()
            problems = overview.problems
        } catch {
            problems = ["etcd does not say what it has: \(error)"]
        }
        for line in overview.lines { StandardOutput.line(line) }
        for problem in problems { StandardError.write("hearth cluster: \(problem)\n") }
        return problems.isEmpty ? .success : .failure
    }

    private static func move(
        _ moves: OwnerMoves, _ plan: (OwnerMoves) throws(OwnerMoves.Failure) -> [OwnerMoves.Move]
    ) -> ExitCode {
        var code = ExitCode.success
        do throws(OwnerMoves.Failure) {
            moves.make(try plan(moves)) { move, failure in
                if let failure {
                    StandardError.write("hearth cluster: '\(move.database)' is not moved: \(failure)\n")
                    code = .failure
                } else {
                    StandardOutput.line("the node '\(move.to)' takes the writes of '\(move.database)' now")
                }
            }
        } catch {
            StandardError.write("hearth cluster: \(error)\n")
            code = .failure
        }
        return code
    }
}

extension ClusterSecurity {
    /// What `--cluster-ca`, `--cluster-cert` and `--cluster-key` say, which belong together; nil without them.
    init?(_ arguments: Arguments) throws(UsageError) {
        switch (arguments["cluster-ca"], arguments["cluster-cert"], arguments["cluster-key"]) {
        case (nil, nil, nil): return nil
        case (let authority?, let certificate?, let key?):
            self.init(authorityFile: authority, certificate: .init(certificateFile: certificate, keyFile: key))
        default: throw UsageError(message: "--cluster-ca, --cluster-cert and --cluster-key belong together")
        }
    }
}
