package import HearthJSONTree

extension TriggerFilter {
    /// A judge of the expression, for one thread.
    package func makeJudge() -> RulesJudge { RulesJudge(RulesProgram(self)) }
}

extension RulesJudge {
    /// Whether the expression of a filter holds for the change of a place to a value. `data` is the place before it;
    /// outside of the place, everything is as before. An expression that cannot be evaluated does not hold.
    package func holds(
        at path: Path, becoming value: CanonicalJSON, _ context: RuleContext, in tree: any RuleTree
    ) throws(RuleTreeError) -> Bool {
        try decide(.write([Assignment(target: WriteTarget(path: path), value: value)]), context, in: tree).isAllowed
    }
}
