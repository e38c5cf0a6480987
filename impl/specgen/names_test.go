package specgen

import "testing"

func TestGoName(t *testing.T) {
	for in, want := range map[string]string{
		"id": "ID", "taskId": "TaskID", "referenceTaskIds": "ReferenceTaskIDs", "iconUrl": "IconURL",
		"AuthorizationCodeOAuthFlow": "AuthorizationCodeOAuthFlow", "OAuthFlows": "OAuthFlows",
		"oauth2SecurityScheme": "OAuth2SecurityScheme", "OAuth2SecurityScheme": "OAuth2SecurityScheme",
		"oauth2MetadataUrl": "OAuth2MetadataURL", "MutualTlsSecurityScheme": "MutualTLSSecurityScheme",
		"mtlsSecurityScheme": "MTLSSecurityScheme", "pkceRequired": "PKCERequired",
		"OpenIdConnectSecurityScheme": "OpenIDConnectSecurityScheme", "openIdConnectUrl": "OpenIDConnectURL",
		"HTTPAuthSecurityScheme": "HTTPAuthSecurityScheme", "apiKeySecurityScheme": "APIKeySecurityScheme",
		"max_file_bytes": "MaxFileBytes", "bearer_token_env": "BearerTokenEnv", "rest-prefix": "RESTPrefix",
		"jsonrpc_path": "JSONRPCPath", "HITLResponded": "HITLResponded", "toolCalls": "ToolCalls", "raw": "Raw",
	} {
		if got := goName(in); got != want {
			t.Errorf("goName(%q) = %q, want %q", in, got, want)
		}
	}
	if got := enumConst("TaskState", "TASK_STATE_INPUT_REQUIRED"); got != "TaskStateInputRequired" {
		t.Error(got)
	}
}
