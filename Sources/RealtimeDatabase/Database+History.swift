package import HearthJSONTree
import HearthSecurityRules

extension Database {
    /// Throws unless the settings let somebody read the past of a place (docs/using/additions.md 9): the `read` of the
    /// history that is kept at the place or above it, and the rates of reads there, for which it counts as one. Where
    /// none is kept, there is nothing to deny.
    ///
    /// - parameter client: see ``Request/client``.
    package func admitToHistory(
        of path: Path, by principal: Principal, from client: UInt64, now: Int64
    ) throws(Failure) {
        if principal.isAdministrator || !indexes.settings.histories.contains(where: { $0.pattern.concerns(path) }) {
            return
        }
        let kept = indexes.settings.histories.filter { KeptPlaces($0.pattern).contains(path) }
        let mayRead = kept.contains { history in
            guard let readers = history.readers, let program = try? RulesProgram(parsing: readers) else { return false }
            let context = RuleContext(auth: principal.auth, now: now)
            return (try? RulesJudge(program).decide(.read(path), context, in: visibleTree(at: now)).isAllowed) ?? false
        }
        if !mayRead { throw .denied("") }
        try countRead(at: path, by: principal, from: client, now: now)
    }
}
