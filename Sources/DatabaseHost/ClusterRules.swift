import HearthSecurityRules

/// The rules of the cluster's own database (``TreeStorage/DataFolder/clusterDatabase``). Nodes propose commits of
/// accounts without a user, so that the owner accepts only those that are based on the newest one.
enum ClusterRules {
    private static let text = """
        {"rules": {"accounts": {".write": "newData.child('head/version').val() === 1 + (data.child('head').exists() \
        ? data.child('head/version').val() : 0)"}}}
        """

    static let program: RulesProgram = {
        guard let program = try? RulesProgram(parsing: Array(text.utf8)) else {
            preconditionFailure("the rules of the cluster's database have a mistake")
        }
        return program
    }()
}
