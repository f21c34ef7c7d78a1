package check

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	sigsyaml "sigs.k8s.io/yaml"

	"penstock/internal/config"
)

const chartPath = "../helm/penstock"

// kinds are the types that Kubernetes decodes the chart's objects into, nil for objects of operators, whose types are not
// Kubernetes' own.
var kinds = map[string]func() any{
	"v1/ConfigMap":                           func() any { return new(corev1.ConfigMap) },
	"v1/Service":                             func() any { return new(corev1.Service) },
	"v1/ServiceAccount":                      func() any { return new(corev1.ServiceAccount) },
	"apps/v1/StatefulSet":                    func() any { return new(appsv1.StatefulSet) },
	"apps/v1/Deployment":                     func() any { return new(appsv1.Deployment) },
	"policy/v1/PodDisruptionBudget":          func() any { return new(policyv1.PodDisruptionBudget) },
	"autoscaling/v2/HorizontalPodAutoscaler": func() any { return new(autoscalingv2.HorizontalPodAutoscaler) },
	"networking.k8s.io/v1/Ingress":           func() any { return new(networkingv1.Ingress) },
	"networking.k8s.io/v1/NetworkPolicy":     func() any { return new(networkingv1.NetworkPolicy) },
	"keda.sh/v1alpha1/ScaledObject":          nil,
	"monitoring.coreos.com/v1/PodMonitor":    nil,
}

// smallest are the values that an installation has to give.
const smallest = `
image: {repository: registry.example.com/penstock}
config:
  blobs: {s3: {bucket: penstock, access_key: "${S3_ACCESS_KEY}", secret_key: "${S3_SECRET_KEY}"}}
  providers: {openai: {kind: openai, api_key: "${OPENAI_API_KEY}"}}
  targets: {mini: {provider: openai, upstream_model: gpt-4o-mini}}
  models: {fast: {targets: [mini]}}
`

// installations are values, and the kinds of the objects that they add to those of the smallest installation.
var installations = map[string]struct {
	values string
	adds   []string
}{
	"smallest":  {},
	"keda":      {"worker: {autoscaling: {enabled: true, minReplicas: 0}}", []string{"ScaledObject"}},
	"hpa":       {"{api: {autoscaling: {enabled: true}}, worker: {autoscaling: {enabled: true, kind: hpa}}}", []string{"HorizontalPodAutoscaler", "HorizontalPodAutoscaler"}},
	"ingress":   {"ingress: {enabled: true, className: nginx, tlsSecret: llm-tls}", []string{"Ingress"}},
	"monitored": {"{podMonitor: {enabled: true, labels: {release: prometheus}}, networkPolicy: {enabled: true}}", []string{"NetworkPolicy", "PodMonitor"}},
	"placed": {`
imagePullSecrets: [{name: registry}]
service: {annotations: {example.com/a: b}}
api: {nodeSelector: {disk: ssd}, tolerations: [{key: a, operator: Exists}], extraEnv: [{name: GOMEMLIMIT, value: 1800MiB}], podAnnotations: {a: b}}
worker: {affinity: {nodeAffinity: {}}, topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]}
`, nil},
}

var always = []string{"ConfigMap", "Deployment", "PodDisruptionBudget", "PodDisruptionBudget", "Service", "Service", "ServiceAccount", "StatefulSet"}

func values(t *testing.T, texts ...string) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, text := range texts {
		more, err := chartutil.ReadValues([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		all = chartutil.CoalesceTables(more, all)
	}
	return all
}

func TestHelmChart(t *testing.T) {
	t.Parallel()
	for name, in := range installations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			given := values(t, smallest, in.values)
			for _, m := range lint.All(chartPath, given, "default", true).Messages {
				if m.Severity >= support.WarningSev {
					t.Error(m)
				}
			}
			var got []string
			for _, text := range render(t, given) {
				got = append(got, checkObject(t, text))
			}
			slices.Sort(got)
			if want := slices.Sorted(slices.Values(append(slices.Clone(always), in.adds...))); !slices.Equal(got, want) {
				t.Errorf("the objects are %v, want %v", got, want)
			}
		})
	}
}

// render returns the objects of an installation as JSON.
func render(t *testing.T, given map[string]any) [][]byte {
	t.Helper()
	files, err := rendered(given)
	if err != nil {
		t.Fatal(err)
	}
	var objects [][]byte
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		for _, doc := range strings.Split("\n"+files[name], "\n---") {
			if strings.TrimSpace(doc) == "" {
				continue
			}
			text, err := sigsyaml.YAMLToJSONStrict([]byte(doc))
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, doc)
			}
			objects = append(objects, text)
		}
	}
	return objects
}

func rendered(given map[string]any) (map[string]string, error) {
	chart, err := loader.Load(chartPath)
	if err != nil {
		return nil, err
	}
	options := chartutil.ReleaseOptions{Name: "llm", Namespace: "default", IsInstall: true}
	all, err := chartutil.ToRenderValues(chart, given, options, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Engine{Strict: true}.Render(chart, all)
}

// checkObject decodes an object as Kubernetes does, refuses fields that it does not know, and returns the object's kind.
func checkObject(t *testing.T, text []byte) string {
	t.Helper()
	var about struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name   string            `json:"name"`
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
	}
	if err := sigsyaml.Unmarshal(text, &about); err != nil {
		t.Fatal(err)
	}
	where := about.Kind + " " + about.Metadata.Name
	if about.Metadata.Name == "" || about.Metadata.Labels["app.kubernetes.io/instance"] != "llm" {
		t.Errorf("%s has no name, or not the labels of the release", where)
	}
	make, known := kinds[about.APIVersion+"/"+about.Kind]
	if !known {
		t.Fatalf("%s: unknown type %s/%s", where, about.APIVersion, about.Kind)
	}
	if make == nil {
		return about.Kind
	}
	object := make()
	if err := sigsyaml.UnmarshalStrict(text, object); err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	switch o := object.(type) {
	case *appsv1.StatefulSet:
		checkPod(t, where, o.Spec.Template.Spec)
	case *appsv1.Deployment:
		checkPod(t, where, o.Spec.Template.Spec)
	case *corev1.ConfigMap:
		checkConfig(t, o.Data["penstock.yaml"])
	}
	return about.Kind
}

// checkPod holds the pod to the restricted standard of Kubernetes, and to probes, resources and mounts that fit.
func checkPod(t *testing.T, where string, pod corev1.PodSpec) {
	t.Helper()
	if s := pod.SecurityContext; s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.SeccompProfile == nil {
		t.Errorf("%s may run as root, or without seccomp", where)
	}
	if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
		t.Errorf("%s gets a token of the cluster", where)
	}
	if pod.EnableServiceLinks == nil || *pod.EnableServiceLinks {
		t.Errorf("%s gets PENSTOCK_ variables of services", where)
	}
	for _, c := range append(slices.Clone(pod.InitContainers), pod.Containers...) {
		s := c.SecurityContext
		if s == nil || *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || fmt.Sprint(s.Capabilities.Drop) != "[ALL]" {
			t.Errorf("%s: container %s has more rights than it needs", where, c.Name)
		}
		if c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() {
			t.Errorf("%s: container %s has no resources", where, c.Name)
		}
	}
	c := pod.Containers[0]
	if c.LivenessProbe == nil || c.ReadinessProbe == nil || c.StartupProbe == nil {
		t.Fatalf("%s has no probes", where)
	}
	for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if !slices.ContainsFunc(c.Ports, func(port corev1.ContainerPort) bool { return port.Name == p.HTTPGet.Port.StrVal }) {
			t.Errorf("%s probes the port %s, which it does not have", where, p.HTTPGet.Port.StrVal)
		}
	}
}

// checkConfig reads the configuration file of the pods as the server does.
func checkConfig(t *testing.T, text string) {
	t.Helper()
	env := func(name string) (string, bool) {
		switch name {
		case "PENSTOCK_ADMIN_KEY", "PENSTOCK_METRICS", "S3_ACCESS_KEY", "S3_SECRET_KEY", "OPENAI_API_KEY":
			return fmt.Sprintf("%x", sha256.Sum256([]byte(name))), true // random enough for a key
		case "PENSTOCK_DATABASE_URL":
			return "postgres://penstock:secret@db/penstock", true
		}
		return "", false
	}
	got, err := config.Parse("penstock.yaml", []byte(text), env)
	if err != nil {
		t.Fatalf("the configuration of the chart: %v\n%s", err, text)
	}
	if got.Process.Listen != "0.0.0.0:8080" || got.Process.AdminListen != "0.0.0.0:9090" || got.Process.Data != "/var/lib/penstock" {
		t.Errorf("the process listens on %s and %s, with data in %s", got.Process.Listen, got.Process.AdminListen, got.Process.Data)
	}
}

// The values of the page install what it says.
func TestHelmChartOfThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/how-to/run-on-kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, ok := strings.Cut(string(page), "```yaml helm\n")
	text, _, closed := strings.Cut(after, "```")
	if !ok || !closed {
		t.Fatal("the page has no values")
	}
	var got []string
	for _, object := range render(t, values(t, text)) {
		got = append(got, checkObject(t, object))
	}
	for _, kind := range []string{"StatefulSet", "Deployment", "HorizontalPodAutoscaler", "ScaledObject", "Ingress", "PodMonitor"} {
		if !slices.Contains(got, kind) {
			t.Errorf("the values of the page make no %s", kind)
		}
	}
}

// A mistake in the values is an error that names it.
func TestHelmChartRefusesMistakes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{}":                                   "config.blobs.s3 is missing",
		smallest + "\napi: {replica: 3}":       "replica",
		smallest + "\nworker: {replicas: two}": "replicas",
		strings.Replace(smallest, "config:", "config:\n  listen: 0.0.0.0:80", 1): "config",
	} {
		if _, err := rendered(values(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("values %s: %v, want an error about %s", text, err, want)
		}
	}
	// A check that cannot fail proves nothing.
	bad := []byte(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"prots":[]}}`)
	if err := sigsyaml.UnmarshalStrict(bad, new(corev1.Service)); err == nil {
		t.Error("an unknown field of a service passed")
	}
}
