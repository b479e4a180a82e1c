package import HearthJSONTree
import HearthSecurityRules

extension Database {
    /// Whether the settings let somebody read the past of a place (docs/using/additions.md 9): the `read` of the
    /// history that is kept at the place or above it.
    package func mayReadHistory(of path: Path, by principal: Principal, now: Int64) -> Bool {
        if principal.isAdministrator { return true }
        let kept = indexes.settings.histories.filter { KeptPlaces($0.pattern).contains(path) }
        return kept.contains { history in
            guard let readers = history.readers, let program = try? RulesProgram(parsing: readers) else { return false }
            let context = RuleContext(auth: principal.auth, now: now)
            return (try? RulesJudge(program).decide(.read(path), context, in: rows).isAllowed) ?? false
        }
    }
}
