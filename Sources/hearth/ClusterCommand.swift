import ClusterNode
import EtcdGateway
import HearthShell

extension Command {
    static let cluster = Command(
        name: "cluster", synopsis: "status --cluster MEMBERS",
        summary: "Show the members, nodes and databases of a cluster.",
        details: """
            Asks etcd, and no node: which members answer, which nodes run, which node takes the writes of
            each database, which commits etcd still has, and how far each node's own files reach (as nodes
            say every 5 seconds). Ends with 1 if a member does not answer, no node runs, a database has no
            owner, or a node has not said how far it is.
            """,
        options: [
            .init(
                name: "cluster", value: "MEMBERS",
                help: "the members of etcd, as for 'hearth serve': etcd://HOST:PORT,HOST:PORT,HOST:PORT")
        ]
    ) { arguments throws(UsageError) in
        guard try arguments.positional("status") == ["status"] else { throw UsageError(message: "needs status") }
        guard let list = arguments["cluster"] else { throw UsageError(message: "needs --cluster MEMBERS") }
        let members: [EtcdMember]
        do throws(EtcdAddressError) { members = try EtcdMember.list(list) } catch {
            throw UsageError(message: "--cluster: \(error)")
        }
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
}
