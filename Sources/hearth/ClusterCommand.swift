import HearthClusterNode
import HearthEtcdGateway
import HearthShell

extension Command {
    static let cluster = Command(
        name: "cluster", synopsis: "status | move DATABASE NODE | drain NODE --cluster MEMBERS",
        summary: "Show a cluster, and say which nodes take the writes of its databases.",
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
            """,
        options: [
            .init(
                name: "cluster", value: "MEMBERS",
                help: "the members of etcd, as for 'hearth serve': etcd://HOST:PORT,HOST:PORT,HOST:PORT")
        ]
    ) { arguments throws(UsageError) in
        let words = arguments.positional
        let usage = UsageError(message: "needs status, move DATABASE NODE, or drain NODE")
        guard let verb = words.first, ["status": 1, "move": 3, "drain": 2][verb] == words.count else { throw usage }
        let members = try members(arguments)
        switch verb {
        case "status": return showStatus(members)
        case "move":
            return move(OwnerMoves(members)) { moves throws(OwnerMoves.Failure) in
                guard let move = try moves.move(of: words[1], to: words[2]) else {
                    StandardOutput.line("the node '\(words[2])' takes the writes of '\(words[1])' already")
                    return []
                }
                return [move]
            }
        default:
            return move(OwnerMoves(members)) { moves throws(OwnerMoves.Failure) in
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

    private static func showStatus(_ members: [EtcdMember]) -> ExitCode {
        var overview = ClusterOverview(members)
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
