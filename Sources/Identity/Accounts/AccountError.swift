package import HearthStorageErrors

/// Why a request about accounts is refused, in the words that clients know (accounts.md 5). All of them are answered
/// with status 400.
package struct AccountError: Error, Hashable, Sendable {
    package enum Code: String, Sendable {
        case adminOnlyOperation = "ADMIN_ONLY_OPERATION"
        case claimsTooLarge = "CLAIMS_TOO_LARGE"
        case configurationExists = "CONFIGURATION_EXISTS"
        case configurationNotFound = "CONFIGURATION_NOT_FOUND"
        case credentialMismatch = "CREDENTIAL_MISMATCH"
        case credentialTooOld = "CREDENTIAL_TOO_OLD_LOGIN_AGAIN"
        case duplicateLocalID = "DUPLICATE_LOCAL_ID"
        case emailExists = "EMAIL_EXISTS"
        case emailNotFound = "EMAIL_NOT_FOUND"
        case expiredCode = "EXPIRED_OOB_CODE"
        case federatedUserAlreadyLinked = "FEDERATED_USER_ID_ALREADY_LINKED"
        case forbiddenClaim = "FORBIDDEN_CLAIM"
        case insufficientPermission = "INSUFFICIENT_PERMISSION"
        case invalidArgument = "INVALID_ARGUMENT"
        case invalidClaims = "INVALID_CLAIMS"
        case invalidConfig = "INVALID_CONFIG"
        case invalidConfigID = "INVALID_CONFIG_ID"
        case invalidContinueURI = "INVALID_CONTINUE_URI"
        case invalidCredentialOrProvider = "INVALID_CREDENTIAL_OR_PROVIDER_ID"
        case invalidCustomToken = "INVALID_CUSTOM_TOKEN"
        case invalidDuration = "INVALID_DURATION"
        case invalidEmail = "INVALID_EMAIL"
        case invalidGrantType = "INVALID_GRANT_TYPE"
        case invalidHashAlgorithm = "INVALID_HASH_ALGORITHM"
        case invalidIdentifier = "INVALID_IDENTIFIER"
        case invalidIDPResponse = "INVALID_IDP_RESPONSE"
        case invalidIDToken = "INVALID_ID_TOKEN"
        case invalidLoginCredentials = "INVALID_LOGIN_CREDENTIALS"
        case invalidOAuthResponseType = "INVALID_OAUTH_RESPONSETYPE"
        case invalidCode = "INVALID_OOB_CODE"
        case invalidPageSelection = "INVALID_PAGE_SELECTION"
        case invalidPassword = "INVALID_PASSWORD"
        case invalidPhoneNumber = "INVALID_PHONE_NUMBER"
        case invalidProfileAttribute = "INVALID_PROFILE_ATTRIBUTE"
        case invalidProjectID = "INVALID_PROJECT_ID"
        case invalidRefreshToken = "INVALID_REFRESH_TOKEN"
        case invalidRequestType = "INVALID_REQ_TYPE"
        case localIDListTooLong = "LOCAL_ID_LIST_EXCEEDS_LIMIT"
        case missingConfigID = "MISSING_CONFIG_ID"
        case missingContinueURI = "MISSING_CONTINUE_URI"
        case missingCustomToken = "MISSING_CUSTOM_TOKEN"
        case missingEmail = "MISSING_EMAIL"
        case missingGrantType = "MISSING_GRANT_TYPE"
        case missingHashAlgorithm = "MISSING_HASH_ALGORITHM"
        case missingIdentifier = "MISSING_IDENTIFIER"
        case missingIDToken = "MISSING_ID_TOKEN"
        case missingIssuer = "MISSING_ISSUER"
        case missingLocalID = "MISSING_LOCAL_ID"
        case missingNewEmail = "MISSING_NEW_EMAIL"
        case missingOAuthClientID = "MISSING_OAUTH_CLIENT_ID"
        case missingOAuthClientSecret = "MISSING_OAUTH_CLIENT_SECRET"
        case missingCode = "MISSING_OOB_CODE"
        case missingOrInvalidNonce = "MISSING_OR_INVALID_NONCE"
        case missingPassword = "MISSING_PASSWORD"
        case missingProviderID = "MISSING_PROVIDER_ID"
        case missingRawID = "MISSING_RAW_ID"
        case missingRefreshToken = "MISSING_REFRESH_TOKEN"
        case missingRequestURI = "MISSING_REQUEST_URI"
        case missingRequestType = "MISSING_REQ_TYPE"
        case missingUserAccount = "MISSING_USER_ACCOUNT"
        case operationNotAllowed = "OPERATION_NOT_ALLOWED"
        case passwordLoginDisabled = "PASSWORD_LOGIN_DISABLED"
        case phoneNumberExists = "PHONE_NUMBER_EXISTS"
        case quotaExceeded = "QUOTA_EXCEEDED"
        case resetPasswordExceedLimit = "RESET_PASSWORD_EXCEED_LIMIT"
        case tenantIDMismatch = "TENANT_ID_MISMATCH"
        case tenantNotFound = "TENANT_NOT_FOUND"
        case tokenExpired = "TOKEN_EXPIRED"
        case tooManyAttempts = "TOO_MANY_ATTEMPTS_TRY_LATER"
        case unauthorizedDomain = "UNAUTHORIZED_DOMAIN"
        case unexpectedParameter = "UNEXPECTED_PARAMETER"
        case userDisabled = "USER_DISABLED"
        case userNotFound = "USER_NOT_FOUND"
        case weakPassword = "WEAK_PASSWORD"
    }

    package let code: Code
    package let detail: String?

    package init(_ code: Code, _ detail: String? = nil) {
        self.code = code
        self.detail = detail
    }

    /// The code, optionally with details after ` : ` (accounts.md 5).
    package var message: String { detail.map { "\(code.rawValue) : \($0)" } ?? code.rawValue }
}

/// Why a request about accounts came to nothing.
package enum AccountFailure: Error, Hashable, Sendable {
    case refused(AccountError)
    /// The request as such is wrong.
    case request(RequestProblem)
    case storage(StorageError)
    /// Something that does not fail while the machine is sound.
    case failed(String)
    /// As much is to be done as may be; trying again later may help.
    case busy

    /// The generic classes of the API, which name themselves in `status` (accounts.md 5). Texts are for people.
    package enum RequestProblem: Hashable, Sendable {
        case invalidArgument(String)
        /// `reason`: `required` or `authError`.
        case unauthenticated(String, reason: String)
        case permissionDenied(String)
        case notFound
        case notImplemented(String)
    }

    package static func refused(_ code: AccountError.Code, _ detail: String? = nil) -> AccountFailure {
        .refused(AccountError(code, detail))
    }
}
