package specgen

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/bufbuild/protocompile"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

var _ = []any{context.Background, sha256.New, hex.EncodeToString, fmt.Sprint, io.Copy, os.Open, filepath.Dir, debug.ReadBuildInfo, a2apb.File_a2av1_proto, protocompile.Compiler{}, annotations.E_Http, proto.Clone, protodesc.NewFiles, protoreflect.Name(""), protoregistry.GlobalFiles, descriptorpb.FileDescriptorProto{}}
